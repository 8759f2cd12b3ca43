package main

import (
	"runtime"
	"time"
)

// maxTries bounds how often one thing is measured.
const maxTries = 20

// calm measures again what was measured while others had the processors: those of
// a virtual machine are not always its own.
func (b *bench) calm(measure func() error) error {
	for tries := 1; ; tries++ {
		before, start := stolen(), time.Now()
		err := measure()
		if err != nil || tries == maxTries || isCalm(stolen()-before, time.Since(start)) {
			return err
		}
		b.page.again++
	}
}

// isCalm says that hardly anything was taken from the processors.
func isCalm(stolen, elapsed time.Duration) bool {
	return stolen*20 <= elapsed*time.Duration(runtime.NumCPU())
}

// stolen is how long processors of ours have been given to other machines, to a
// hundredth of a second; zero where nobody says.
func stolen() time.Duration { return procTime("/proc/stat", "cpu ", 7, 8) }
