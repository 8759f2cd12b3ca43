package loop

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A File is a pipe or a connection that a loop waits for, and the runtime does not.
type File struct {
	fd  descriptor
	on  atomic.Pointer[Loop]
	who atomic.Pointer[Listener]

	in, out gate

	mu     sync.Mutex
	at     int32 // its place
	event  unix.EpollEvent
	closed bool
}

// adopt takes what c stands for from the runtime, which c is to be closed for; nil
// where that cannot be.
func adopt(c syscall.Conn) *File {
	l := least()
	if l == nil {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	fd := -1
	if raw.Control(func(was uintptr) { fd, err = unix.FcntlInt(was, unix.F_DUPFD_CLOEXEC, 0) }) != nil || err != nil {
		return nil
	}
	f := &File{fd: descriptor{number: fd}}
	if !l.join(f) {
		f.fd.close()
		return nil
	}
	return f
}

// AdoptPipe takes the reading end of a pipe from the runtime, where that is possible;
// else it returns it as it is.
func AdoptPipe(p *os.File) io.ReadCloser {
	f := adopt(p)
	if f == nil {
		return p
	}
	p.Close()
	return f
}

// come tells whom it concerns that something may be read or written.
func (f *File) come(l *Loop, events uint32) {
	if events&^unix.EPOLLOUT != 0 {
		f.in.open()
		if w := f.who.Load(); w != nil {
			(*w).Ready(l, events&^(unix.EPOLLIN|unix.EPOLLOUT) != 0)
		}
	}
	if events&^(unix.EPOLLIN|unix.EPOLLRDHUP) != 0 {
		f.out.open()
	}
}

// Listen has w told of what can be read, from what is there now on, until Unlisten.
func (f *File) Listen(w Listener) {
	f.who.Store(&w)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		_ = unix.EpollCtl(f.on.Load().fd, unix.EPOLL_CTL_MOD, f.fd.number, &f.event)
	}
}

// Unlisten undoes Listen. Outside of the loop, Ready may still be called.
func (f *File) Unlisten() { f.who.Store(nil) }

// Seen has changed before a listener is told.
func (f *File) Seen() uint64 { return f.in.seen.Load() }

// Loop is the one that waits for it.
func (f *File) Loop() *Loop { return f.on.Load() }

// Move has another loop wait for it; false means that it is closed.
func (f *File) Move(to *Loop) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.on.Load().leave(f)
	if !to.join(f) {
		f.endLocked()
	}
	return !f.closed
}

// Close ends all that waits.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return net.ErrClosed
	}
	f.on.Load().leave(f)
	f.endLocked()
	return nil
}

func (f *File) endLocked() {
	f.closed = true
	f.in.close()
	f.out.close()
	f.fd.close()
}

// Read implements io.Reader.
func (f *File) Read(p []byte) (int, error) {
	for {
		seen, err := f.in.enter()
		if err != nil {
			return 0, err
		}
		if n, err := f.ReadNow(p); n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		if err := f.in.wait(seen); err != nil {
			return 0, err
		}
	}
}

// ReadNow is Read without waiting; neither bytes nor an error mean that nothing has
// come.
func (f *File) ReadNow(p []byte) (int, error) {
	n, err := f.read(p)
	switch {
	case err == syscall.EAGAIN:
		return 0, nil
	case err == nil && n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return max(n, 0), err
}

// read does not wait. Like package net it is one of package syscall, so that the race
// detector knows what was before.
func (f *File) read(p []byte) (int, error) {
	if err := f.fd.use(); err != nil {
		return 0, err
	}
	defer f.fd.done()
	for {
		n, err := syscall.Read(f.fd.number, p)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// SyscallConn implements syscall.Conn.
func (f *File) SyscallConn() (syscall.RawConn, error) { return rawFile{f}, nil }

type rawFile struct{ f *File }

func (r rawFile) Control(f func(fd uintptr)) error {
	if err := r.f.fd.use(); err != nil {
		return err
	}
	defer r.f.fd.done()
	f(uintptr(r.f.fd.number))
	return nil
}

func (r rawFile) Read(f func(fd uintptr) bool) error { return r.f.pass(&r.f.in, f) }

func (r rawFile) Write(f func(fd uintptr) bool) error { return r.f.pass(&r.f.out, f) }

// pass has do called, again each time that the gate opens, until it reports true.
func (f *File) pass(g *gate, do func(fd uintptr) bool) error {
	for {
		seen, err := g.enter()
		if err != nil {
			return err
		}
		if err := f.fd.use(); err != nil {
			return err
		}
		done := do(uintptr(f.fd.number))
		f.fd.done()
		if done {
			return nil
		}
		if err := g.wait(seen); err != nil {
			return err
		}
	}
}
