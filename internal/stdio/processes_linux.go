package stdio

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeReaper makes orphaned descendants our children. It reports false if the
// system refuses, as emulators and containers may.
func becomeReaper() (bool, error) {
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	return err == nil, err
}

// childAttr puts a child into its own process group. The kernel kills it when the
// helper exits.
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

// readProc reads /proc/pid/stat. Its second field, the name in parentheses, may
// contain any character, so fields are counted from the last parenthesis.
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
	return parseStat(pid, buf[:n])
}

// parseStat parses the fields that are needed. It allocates nothing, because it
// runs for every process of the machine.
func parseStat(pid int, stat []byte) (proc, bool) {
	p := proc{pid: pid}
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	for i := range 20 {
		rest = bytes.TrimLeft(rest, " ")
		end := bytes.IndexByte(rest, ' ')
		if end <= 0 {
			return proc{}, false
		}
		field := rest[:end]
		rest = rest[end:]
		switch i {
		case 0:
			p.zombie = field[0] == 'Z' || field[0] == 'X'
		case 1:
			p.ppid = int(number(field))
		case 2:
			p.pgid = int(number(field))
		case 3:
			p.sid = int(number(field))
		case 19:
			p.start = number(field)
		}
	}
	return p, true
}

func number(digits []byte) (n uint64) {
	for _, d := range digits {
		n = 10*n + uint64(d-'0')
	}
	return n
}

// openPipes returns the inodes of the pipes that a process has open.
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
