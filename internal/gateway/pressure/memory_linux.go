package pressure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// machineMemory returns the size of the machine's memory.
func machineMemory() uint64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// containerMemory returns the smallest memory limit of the process's control
// groups, or 0.
func containerMemory() uint64 {
	smallest := readLimit("/sys/fs/cgroup/memory/memory.limit_in_bytes")
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return smallest
	}
	path := "/"
	for line := range strings.Lines(string(raw)) {
		if own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path = filepath.Clean("/" + own)
		}
	}
	for {
		if limit := readLimit("/sys/fs/cgroup" + path + "/memory.max"); limit > 0 && (smallest == 0 || limit < smallest) {
			smallest = limit
		}
		if path == "/" {
			return smallest
		}
		path = filepath.Dir(path)
	}
}

// unlimited is the smallest number with which kernels write "no limit".
const unlimited = 1 << 60

func readLimit(file string) uint64 {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil || n >= unlimited {
		return 0
	}
	return n
}
