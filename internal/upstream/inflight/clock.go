package inflight

import "time"

var begun = time.Now()

// Ticks is how long this process has run, in nanoseconds. Calls are timed by
// it and not by the time of day, which may be set while they run.
func Ticks() int64 { return int64(time.Since(begun)) }
