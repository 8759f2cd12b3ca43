package script

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// confine has nothing to do: the process is in a job object, has only its
// standard handles, and the engine cannot open others.
func confine() error { return nil }

// bound does nothing: the meter checks the limits.
func bound(Limits) error { return nil }

// yield gives other processes priority when the processors are busy.
func yield() {
	_ = windows.SetPriorityClass(windows.CurrentProcess(), windows.IDLE_PRIORITY_CLASS) // an error does not matter
}

// awaitInput waits until standard input is readable, or until the given time.
// It polls, because Windows cannot wait for a pipe with a timeout.
func awaitInput(until time.Time) bool {
	for {
		var waiting uint32
		ok, _, _ := peekPipe.Call(os.Stdin.Fd(), 0, 0, 0, uintptr(unsafe.Pointer(&waiting)), 0)
		if ok == 0 || waiting > 0 {
			return true // the next read returns the error
		}
		left := time.Until(until)
		if left <= 0 {
			return false
		}
		time.Sleep(min(left, meterTick))
	}
}

var peekPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

var memoryInfo = windows.NewLazySystemDLL("kernel32.dll").NewProc("K32GetProcessMemoryInfo")

// memoryCounters is PROCESS_MEMORY_COUNTERS.
type memoryCounters struct {
	size, faults                                   uint32
	peak, now                                      uintptr
	peakPaged, paged, peakOther, other, file, most uintptr
}

func measure() usage {
	self := windows.CurrentProcess()
	var created, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(self, &created, &ended, &kernel, &user) != nil {
		return usage{}
	}
	ticks := func(f windows.Filetime) time.Duration {
		return time.Duration(uint64(f.HighDateTime)<<32|uint64(f.LowDateTime)) * 100
	}
	c := memoryCounters{}
	c.size = uint32(unsafe.Sizeof(c))
	memoryInfo.Call(uintptr(self), uintptr(unsafe.Pointer(&c)), uintptr(c.size))
	return usage{cpu: ticks(kernel) + ticks(user), peak: int64(c.peak)}
}
