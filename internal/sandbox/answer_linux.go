//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/safehttp"
	"mcp-all-in-one/internal/sandbox/launcher"
)

// A notification is a call that the filter passes to the helper; the kernel's
// struct seccomp_notif.
type notification struct {
	id    uint64
	pid   uint32 // thread id
	flags uint32
	data  struct {
		nr   int32
		arch uint32
		ip   uint64
		args [6]uint64
	}
}

// A response is the result of the call; struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	error int32
	flags uint32
}

// answer makes the calls that the filter of one server passes on, until the server
// and all processes that it forked have exited.
func answer(p Profile, listener int, again *repeated) {
	defer unix.Close(listener)
	notes := openNotes(p.Learn)
	defer notes.close()
	for {
		fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err == unix.EINTR {
			continue
		} else if err != nil || fds[0].Revents&unix.POLLIN == 0 {
			return
		}
		n := new(notification)
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(n))); errno != 0 {
			continue // the caller was killed meanwhile
		}
		// A connect may take long, and other calls must not wait for it. The copy
		// keeps the listener open for the response.
		reply, err := unix.FcntlInt(uintptr(listener), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			continue
		}
		call := again.begin(n)
		go func() {
			defer unix.Close(reply)
			c := caller{profile: p, listener: reply, n: n}
			r := response{id: n.id}
			if notes != nil {
				c.note(notes)
				r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
			} else {
				r.error = -int32(call.once(func() unix.Errno { return c.do(&r.val) }))
			}
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(reply), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
		}()
	}
}

// repeated are the last calls of threads, on kernels before 5.19: there a signal takes
// a call back from the helper, also one that was made, and the thread makes it again.
// A connect then finds that the socket is connected already.
type repeated struct {
	last map[uint32]*made // by thread
}

// newRepeated returns nil on newer kernels.
func newRepeated() *repeated {
	if keepsCalls() {
		return nil
	}
	return &repeated{map[uint32]*made{}}
}

// made is a call that the helper makes.
type made struct {
	n      *notification
	before *made         // the same call of the same thread, if it was the last one
	done   chan struct{} // closed when errno is set
	errno  unix.Errno
}

// maxRepeated limits the threads that are remembered: most that are have ended.
const maxRepeated = 256

// begin remembers a call; r may be nil. Calls must begin in the order in which they arrive.
func (r *repeated) begin(n *notification) *made {
	mine := &made{n: n, done: make(chan struct{})}
	if r == nil {
		return mine
	}
	if before := r.last[n.pid]; before != nil && before.n.data == n.data {
		mine.before = before
	}
	if len(r.last) >= maxRepeated {
		clear(r.last)
	}
	r.last[n.pid] = mine
	return mine
}

// once makes the call. If the one before has connected the socket, its result is that
// of this one.
func (m *made) once(do func() unix.Errno) unix.Errno {
	defer close(m.done)
	before := m.before
	m.before = nil // what is remembered must not grow
	if before == nil {
		m.errno = do()
		return m.errno
	}
	<-before.done
	m.errno = do()
	switch {
	case m.errno == unix.ESRCH, // taken back before it was made
		m.errno == unix.EISCONN && before.errno == 0, m.errno == unix.EALREADY && before.errno == unix.EINPROGRESS:
		m.errno = before.errno
	}
	return m.errno
}

// keepsCalls reports whether the kernel lets a thread wait for the helper in spite of
// signals. A filter that is not there is refused after its flags are.
var keepsCalls = sync.OnceValue(func() bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 0)
	return errno == unix.EFAULT
})

// A caller is the thread that made the call of a notification.
type caller struct {
	profile  Profile
	listener int
	n        *notification
}

// do makes the call. A result other than zero is stored in val.
func (c *caller) do(val *int64) unix.Errno {
	args := c.n.data.args
	switch nr := c.n.data.nr; {
	case nr == unix.SYS_CONNECT:
		return c.connect(int(int32(args[0])), args[1], args[2])
	case nr == unix.SYS_INOTIFY_ADD_WATCH:
		return c.watch(int(int32(args[0])), args[1], uint32(args[2]), val)
	case nr == unix.SYS_FCHMOD:
		return c.fchmod(int(int32(args[0])), uint32(args[1]))
	case nr == unix.SYS_FCHMODAT:
		return c.chmod(int(int32(args[0])), args[1], uint32(args[2]))
	case slices.Contains(launcher.LegacyChmod, uint32(nr)):
		return c.chmod(unix.AT_FDCWD, args[0], uint32(args[1]))
	}
	return unix.ENOSYS
}

// valid reports whether the caller still waits. If it does, its pid was not reused
// while we looked.
func (c *caller) valid() bool {
	id := c.n.id
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&id)))
	return errno == 0
}

// memory reads up to size bytes of the caller's memory.
func (c *caller) memory(at uint64, size int) ([]byte, unix.Errno) {
	buf := make([]byte, size)
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(size)
	n, err := unix.ProcessVMReadv(int(c.n.pid), local, []unix.RemoteIovec{{Base: uintptr(at), Len: size}}, 0)
	if err != nil {
		return nil, unix.EFAULT
	}
	if !c.valid() {
		return nil, unix.ESRCH
	}
	return buf[:n], 0
}

// file returns a duplicate of an open file of the caller.
func (c *caller) file(fd int) (int, unix.Errno) {
	pidfd, err := unix.PidfdOpen(c.group(), 0)
	if err != nil {
		return -1, unix.ESRCH
	}
	defer unix.Close(pidfd)
	if !c.valid() {
		return -1, unix.ESRCH
	}
	copied, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return -1, err.(unix.Errno)
	}
	return copied, 0
}

// group returns the process id of the calling thread.
func (c *caller) group() int {
	tid := int(c.n.pid)
	status, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return tid
	}
	_, rest, _ := bytes.Cut(status, []byte("\nTgid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if pid, err := strconv.Atoi(strings.TrimSpace(string(line))); err == nil {
		return pid
	}
	return tid
}

// connect connects the caller's socket to the address that was checked.
func (c *caller) connect(fd int, at, size uint64) unix.Errno {
	if size < 2 || size > unix.SizeofSockaddrAny {
		return unix.EINVAL
	}
	address, errno := c.memory(at, int(size))
	if errno != 0 {
		return errno
	}
	if len(address) != int(size) {
		return unix.EFAULT
	}
	if address, errno = c.permitted(address); errno != 0 {
		return errno
	}
	socket, errno := c.file(fd)
	if errno != 0 {
		return errno
	}
	defer unix.Close(socket)
	_, _, errno = unix.Syscall(unix.SYS_CONNECT, uintptr(socket), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
	return errno
}

// permitted returns the address to connect to, or the error if it is not allowed.
func (c *caller) permitted(address []byte) ([]byte, unix.Errno) {
	switch binary.NativeEndian.Uint16(address) {
	case unix.AF_UNSPEC:
		return address, 0 // dissolves a connection
	case unix.AF_UNIX:
		if !c.profile.Unix {
			return nil, unix.EACCES
		}
		return c.unixAddress(address)
	}
	target, ok := addrPort(address)
	if !ok {
		return nil, unix.EAFNOSUPPORT
	}
	if c.profile.Public && safehttp.Public(target.Addr()) || slices.Contains(c.profile.Addresses, target.String()) {
		return address, 0
	}
	return nil, unix.EACCES
}

// unixAddress returns a unix address as seen from the helper: a relative path is
// relative to the caller's working directory.
func (c *caller) unixAddress(address []byte) ([]byte, unix.Errno) {
	path := address[2:]
	if len(path) == 0 || path[0] == 0 || path[0] == '/' {
		return address, 0
	}
	path, _, _ = bytes.Cut(path, []byte{0})
	out := append(address[:2:2], "/proc/"+strconv.Itoa(c.group())+"/cwd/"...)
	if out = append(append(out, path...), 0); len(out) > unix.SizeofSockaddrUnix {
		return nil, unix.ENAMETOOLONG
	}
	return out, 0
}

func addrPort(address []byte) (netip.AddrPort, bool) {
	if len(address) < 4 {
		return netip.AddrPort{}, false
	}
	port := binary.BigEndian.Uint16(address[2:])
	switch family := binary.NativeEndian.Uint16(address); {
	case family == unix.AF_INET && len(address) >= unix.SizeofSockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(address[4:8])), port), true
	case family == unix.AF_INET6 && len(address) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(address[8:24])).Unmap(), port), true
	}
	return netip.AddrPort{}, false
}

// open opens the file that a path of the caller leads to, for its name only.
func (c *caller) open(dir int, at uint64, flags uint64) (int, unix.Errno) {
	name, errno := c.path(at)
	if errno != 0 {
		return -1, errno
	}
	base := "/proc/" + strconv.Itoa(c.group()) + "/cwd"
	if dir != unix.AT_FDCWD {
		base = "/proc/" + strconv.Itoa(c.group()) + "/fd/" + strconv.Itoa(dir)
	}
	root, err := unix.Open(base, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, unix.EBADF
	}
	defer unix.Close(root)
	if !c.valid() {
		return -1, unix.ESRCH
	}
	// Magic links would lead to the helper's own files.
	file, err := unix.Openat2(root, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return -1, err.(unix.Errno)
	}
	return file, 0
}

// inside reports whether an open file is in one of the folders. link is a name of
// the file that cannot lead elsewhere.
func inside(file int, folders ...[]string) (link string, ok bool) {
	link = "/proc/self/fd/" + strconv.Itoa(file)
	name, err := os.Readlink(link)
	return link, err == nil && slices.ContainsFunc(slices.Concat(folders...), func(dir string) bool { return within(name, dir) })
}

// watch adds a file that the caller may read to its list of watched files.
func (c *caller) watch(list int, at uint64, mask uint32, val *int64) unix.Errno {
	var flags uint64
	if mask&unix.IN_DONT_FOLLOW != 0 {
		flags = unix.O_NOFOLLOW
	}
	file, errno := c.open(unix.AT_FDCWD, at, flags)
	if errno != 0 {
		return errno
	}
	defer unix.Close(file)
	link, ok := inside(file, c.profile.Read, c.profile.Write)
	if !ok {
		return unix.EACCES
	}
	to, errno := c.file(list)
	if errno != 0 {
		return errno
	}
	defer unix.Close(to)
	n, err := unix.InotifyAddWatch(to, link, mask&^unix.IN_DONT_FOLLOW)
	if err != nil {
		return err.(unix.Errno)
	}
	*val = int64(n)
	return 0
}

// chmod changes the mode of the file that a path of the caller leads to.
func (c *caller) chmod(dir int, at uint64, mode uint32) unix.Errno {
	file, errno := c.open(dir, at, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(file)
	return c.setMode(file, mode)
}

func (c *caller) fchmod(fd int, mode uint32) unix.Errno {
	file, errno := c.file(fd)
	if errno != 0 {
		return errno
	}
	defer unix.Close(file)
	return c.setMode(file, mode)
}

// setMode changes the mode of an open file, if it is inside a folder that the
// server may write.
func (c *caller) setMode(file int, mode uint32) unix.Errno {
	link, ok := inside(file, c.profile.Write)
	if !ok {
		return unix.EPERM
	}
	// A writable device is still shared with all users: leave its mode unchanged. A
	// file must not get the right to run as its owner.
	var st unix.Stat_t
	err := unix.Fstat(file, &st)
	regular, folder := st.Mode&unix.S_IFMT == unix.S_IFREG, st.Mode&unix.S_IFMT == unix.S_IFDIR
	if err != nil || !regular && !folder || regular && mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		return unix.EPERM
	}
	if err := unix.Chmod(link, mode&0o7777); err != nil {
		return err.(unix.Errno)
	}
	return 0
}

// path reads a path from the caller's memory.
func (c *caller) path(at uint64) (string, unix.Errno) {
	var name []byte
	for len(name) < unix.PathMax {
		// A read beyond the end of mapped memory fails, so no read crosses the end of
		// a page.
		part, errno := c.memory(at, 4096-int(at%4096))
		if errno != 0 {
			return "", errno
		}
		if before, _, ok := bytes.Cut(part, []byte{0}); ok {
			return string(append(name, before...)), 0
		}
		name, at = append(name, part...), at+uint64(len(part))
	}
	return "", unix.ENAMETOOLONG
}
