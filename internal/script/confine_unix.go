//go:build unix

package script

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// files are the three standard ones and the two by which the Go runtime waits.
const files = 5

// confine takes from this process what a script never needs: it can open no
// file and no connection, and write no file. The hard limits cannot be raised
// again. Others come first when the processors are busy.
func confine() error {
	runtime.GOMAXPROCS(2)                                // one for the engine, one for the meter
	time.AfterFunc(time.Hour, func() {}).Stop()          // the runtime opens its files now
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) // a courtesy
	for what, limit := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: files} {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}

const niceness = 10

// bound sets what the kernel ends the process at, should the meter not.
func bound(l Limits) error {
	cpu := uint64(l.CPU/time.Second) + 2
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: cpu, Max: cpu}); err != nil {
		return err
	}
	data := uint64(l.Memory) + dataSlack
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: data, Max: data})
}

// dataSlack is what the Go runtime maps beside the memory of a script.
const dataSlack = 128 << 20

// awaitInput waits until standard input has something to read, or until a time.
func awaitInput(until time.Time) bool {
	for {
		left := max(0, time.Until(until))
		fds := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int((left+time.Millisecond-1)/time.Millisecond))
		if err == nil && n > 0 || err != nil && err != unix.EINTR {
			return true // reading says what is wrong
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
	peak := int64(r.Maxrss) // which is narrower on 32 bits
	if runtime.GOOS == "linux" || runtime.GOOS == "freebsd" {
		peak <<= 10
	}
	return usage{cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano()), peak: peak}
}
