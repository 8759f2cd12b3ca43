//go:build unix

package script

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// files is the number of open files: three standard ones, and two that the Go
// runtime uses for polling.
const files = 5

// confine removes rights that a script never needs: the process cannot open
// files or connections, and cannot write to files. The hard limits cannot be
// raised again. Other processes have priority while it starts.
func confine() error {
	runtime.GOMAXPROCS(2)                             // one for the engine, one for the meter
	time.AfterFunc(time.Hour, func() {}).Stop()       // makes the runtime open its files now
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, later) // an error does not matter
	for what, limit := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: files} {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}

// yield gives other processes priority when the processors are busy. On Linux
// only the process group reaches all threads; the process has a group of its
// own.
func yield() {
	if unix.Getpgrp() == unix.Getpid() {
		_ = unix.Setpriority(unix.PRIO_PGRP, 0, last) // an error does not matter
	}
}

// Priorities of processes.
const (
	later = 10
	last  = 19
)

// bound sets limits at which the kernel ends the process if the meter does not.
func bound(l Limits) error {
	cpu := uint64(l.CPU/time.Second) + 2
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: cpu, Max: cpu}); err != nil {
		return err
	}
	data := uint64(l.Memory) + dataSlack
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: data, Max: data})
}

// dataSlack is what the Go runtime maps besides the memory of a script.
const dataSlack = 192 << 20

// awaitInput waits until standard input is readable, or until the given time.
func awaitInput(until time.Time) bool {
	for {
		left := max(0, time.Until(until))
		fds := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int((left+time.Millisecond-1)/time.Millisecond))
		if err == nil && n > 0 || err != nil && err != unix.EINTR {
			return true // the next read returns the error
		}
		if left == 0 {
			return false
		}
	}
}

func measure() usage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return usage{}
	}
	peak := int64(r.Maxrss) // Maxrss is narrower on 32-bit systems
	if runtime.GOOS == "linux" || runtime.GOOS == "freebsd" {
		peak <<= 10
	}
	return usage{cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano()), peak: peak}
}
