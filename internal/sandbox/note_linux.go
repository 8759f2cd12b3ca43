//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/sandbox/launcher"
)

// note records the call of the caller. The call is allowed in any case.
func (c *caller) note(to *notes) {
	args := c.n.data.args
	switch nr := uint32(c.n.data.nr); {
	case nr == unix.SYS_OPENAT:
		c.noteOpen(to, int(int32(args[0])), args[1], args[2])
	case nr == unix.SYS_OPENAT2:
		if how, errno := c.memory(args[2], 8); errno == 0 && len(how) == 8 {
			c.noteOpen(to, int(int32(args[0])), args[1], binary.NativeEndian.Uint64(how))
		}
	case slices.Contains(launcher.LegacyOpen, nr):
		c.noteOpen(to, unix.AT_FDCWD, args[0], args[1])
	case nr == unix.SYS_EXECVE:
		c.noteExec(to, unix.AT_FDCWD, args[0])
	case nr == unix.SYS_EXECVEAT:
		c.noteExec(to, int(int32(args[0])), args[1])
	case nr == unix.SYS_MKDIRAT || nr == unix.SYS_UNLINKAT:
		c.noteOpen(to, int(int32(args[0])), args[1], unix.O_WRONLY|unix.O_CREAT)
	case nr == unix.SYS_RENAMEAT || nr == unix.SYS_RENAMEAT2:
		c.noteOpen(to, int(int32(args[0])), args[1], unix.O_WRONLY|unix.O_CREAT)
		c.noteOpen(to, int(int32(args[2])), args[3], unix.O_WRONLY|unix.O_CREAT)
	case slices.Contains(launcher.LegacyChange, nr):
		c.noteOpen(to, unix.AT_FDCWD, args[0], unix.O_WRONLY|unix.O_CREAT)
	case nr == unix.SYS_CONNECT:
		c.noteConnect(to, int(int32(args[0])), args[1], args[2])
	case nr == unix.SYS_LISTEN:
		to.add(Note{Call: noteListen})
	}
}

// noteExec records a program and, for a script, the interpreter in its first line,
// which the kernel opens.
func (c *caller) noteExec(to *notes, dir int, at uint64) {
	real := c.noteOpen(to, dir, at, unix.O_RDONLY)
	if real == "" {
		return
	}
	program := interpreter(real, nil)
	if program, err := filepath.EvalSymlinks(program); err == nil && filepath.IsAbs(program) {
		to.add(Note{Call: noteOpen, What: program})
	}
}

// noteOpen records a file that exists, or that the call creates. A missing file needs
// no rule. noteOpen returns the real path of the file if it exists.
func (c *caller) noteOpen(to *notes, dir int, at, flags uint64) (real string) {
	name, errno := c.path(at)
	if errno != 0 || name == "" {
		return ""
	}
	process := "/proc/" + strconv.Itoa(c.group())
	if !filepath.IsAbs(name) {
		base := process + "/cwd"
		if dir != unix.AT_FDCWD {
			base = process + "/fd/" + strconv.Itoa(dir)
		}
		folder, err := os.Readlink(base)
		if err != nil {
			return ""
		}
		name = filepath.Join(folder, name)
	}
	for _, self := range []string{"/proc/self", "/proc/thread-self", process} {
		if name == self || strings.HasPrefix(name, self+"/") {
			return "" // its own process
		}
	}
	writes := flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_TRUNC != 0
	if real, err := filepath.EvalSymlinks(name); err == nil {
		if unix.Access(real, unix.R_OK) == nil || writes {
			info, err := os.Stat(real)
			to.add(Note{Call: noteOpen, What: real, Write: writes, Folder: err == nil && info.IsDir()})
		}
		return real
	}
	if flags&unix.O_CREAT == 0 {
		return ""
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		to.add(Note{Call: noteOpen, What: filepath.Join(folder, filepath.Base(name)), Write: true})
	}
	return ""
}

// unixSocket returns the name of a socket as the gateway would write it: an absolute
// path, or an abstract name that begins with @. It returns "" if there is none.
func (c *caller) unixSocket(name string) string {
	process := "/proc/" + strconv.Itoa(c.group())
	if strings.HasPrefix(name, "\x00") {
		name = strings.ReplaceAll(name, "\x00", "@") // as the kernel lists it
		list, err := os.ReadFile(process + "/net/unix")
		if err != nil || !strings.Contains(string(list), " "+name+"\n") {
			return ""
		}
		return name
	}
	name, _, _ = strings.Cut(name, "\x00")
	if name == "" {
		return ""
	}
	if !filepath.IsAbs(name) {
		folder, err := os.Readlink(process + "/cwd")
		if err != nil {
			return ""
		}
		name = filepath.Join(folder, name)
	}
	if _, err := os.Stat(name); err != nil {
		return ""
	}
	return name
}

// noteConnect records a connection. It ignores datagram sockets, which resolve names or
// send nothing.
func (c *caller) noteConnect(to *notes, fd int, at, size uint64) {
	if size < 2 || size > unix.SizeofSockaddrAny {
		return
	}
	address, errno := c.memory(at, int(size))
	if errno != 0 || len(address) != int(size) {
		return
	}
	if binary.NativeEndian.Uint16(address) == unix.AF_UNIX {
		if name := c.unixSocket(string(address[2:])); name != "" {
			to.add(Note{Call: noteUnix, What: name})
		}
		return
	}
	target, ok := addrPort(address)
	if !ok {
		return
	}
	socket, errno := c.file(fd)
	if errno != 0 {
		return
	}
	defer unix.Close(socket)
	if kind, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TYPE); err == nil && kind == unix.SOCK_STREAM {
		to.add(Note{Call: noteConnect, What: target.String()})
	}
}
