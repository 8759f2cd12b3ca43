package stdio

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// reparents says that orphans become children of the helper.
const reparents = true

// becomeReaper makes orphaned descendants our children.
func becomeReaper() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// childAttr puts a child into its own process group and has it killed when
// the helper dies.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// processes reads the process table.
func processes() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var list []proc
	buf := make([]byte, 1024)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProc(pid, buf); ok {
			list = append(list, p)
		}
	}
	return list
}

// readProc reads /proc/pid/stat. Its second field, the name in parentheses,
// may contain anything, so fields are counted from the last parenthesis.
func readProc(pid int, buf []byte) (proc, bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return proc{}, false
	}
	n, err := unix.Read(fd, buf)
	unix.Close(fd)
	if err != nil {
		return proc{}, false
	}
	fields := bytes.Fields(buf[bytes.LastIndexByte(buf[:n], ')')+1 : n])
	if len(fields) < 20 {
		return proc{}, false
	}
	number := func(i int) int {
		v, _ := strconv.Atoi(string(fields[i]))
		return v
	}
	state := fields[0][0]
	return proc{
		pid: pid, ppid: number(1), pgid: number(2), sid: number(3),
		start:  uint64(number(19)),
		zombie: state == 'Z' || state == 'X',
	}, true
}

// openPipes are the inodes of the pipes that a process holds.
func openPipes(pid int) []uint64 {
	base := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil
	}
	var inodes []uint64
	for _, e := range entries {
		target, err := os.Readlink(base + "/" + e.Name())
		if err != nil {
			continue
		}
		number, ok := strings.CutPrefix(target, "pipe:[")
		if !ok {
			continue
		}
		if inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); err == nil {
			inodes = append(inodes, inode)
		}
	}
	return inodes
}
