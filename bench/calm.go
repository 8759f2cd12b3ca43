package main

import (
	"runtime"
	"time"
)

// maxTries limits how often one measurement is repeated.
const maxTries = 20

// calm repeats a measurement during which other machines used the processors: a
// virtual machine shares its processors with others.
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

// isCalm reports whether hardly any processor time was stolen.
func isCalm(stolen, elapsed time.Duration) bool {
	return stolen*20 <= elapsed*time.Duration(runtime.NumCPU())
}

// stolen returns how much processor time other machines have taken, to a
// hundredth of a second; zero if the system does not report it.
func stolen() time.Duration { return procTime("/proc/stat", "cpu ", 7, 8) }
