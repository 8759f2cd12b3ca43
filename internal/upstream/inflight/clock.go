package inflight

import "time"

var start = time.Now()

// Ticks returns how long this process has run, in nanoseconds. Calls are timed
// with it and not with the time of day, which may be changed while they run.
func Ticks() int64 { return int64(time.Since(start)) }
