package wire

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A loop waits for many connections with one goroutine. What it does for one of
// them must not wait.
//
// The runtime waits for the loop as for a file, so that no thread stands still.
type loop struct {
	raw    syscall.RawConn
	fd     int
	turn   Turn
	events [64]unix.EpollEvent
	told   [64]listener
	buf    [readSize]byte // what a listener reads

	count atomic.Int32 // of listeners

	mu     sync.Mutex
	places []place
	free   []int32
}

// A listener is told that something has come.
type listener interface {
	// ready must not wait. last says that nothing comes behind what is there.
	ready(l *loop, last bool)
}

// A place is that of a listener. Its number and its turn are known to the system,
// which may tell about one that has left.
type place struct {
	who  listener
	turn int32
}

// turnSize is after how many listeners a turn ends: whoever gets what they have
// queued can begin.
const turnSize = 16

// allLoops are as many as there are processors, as long as the process runs.
var allLoops = sync.OnceValue(func() (all []*loop) {
	for range runtime.GOMAXPROCS(0) {
		l, err := newLoop()
		if err != nil {
			return nil // connections have goroutines then
		}
		all = append(all, l)
	}
	return all
})

// aLoop is the one with the fewest connections; nil where there is none. Few
// connections would cost less in one loop, but their calls would wait for each
// other.
func aLoop() (least *loop) {
	for _, l := range allLoops() {
		if least == nil || l.count.Load() < least.count.Load() {
			least = l
		}
	}
	return least
}

func newLoop() (*loop, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	raw, err := os.NewFile(uintptr(fd), "loop").SyscallConn()
	if err != nil {
		return nil, err
	}
	l := &loop{raw: raw, fd: fd}
	l.turn.loop = l
	go l.live()
	return l, nil
}

// live never returns.
func (l *loop) live() { _ = l.raw.Read(l.run) }

// run tells all that are ready. It reports false: there is no end.
func (l *loop) run(uintptr) bool {
	for {
		n, err := unix.EpollWait(l.fd, l.events[:], 0)
		if err == unix.EINTR {
			continue
		}
		n = max(n, 0)
		l.find(n)
		for i := range n {
			if l.told[i] != nil {
				l.told[i].ready(l, l.events[i].Events&^unix.EPOLLIN != 0)
				l.told[i] = nil
			}
			if i%turnSize == turnSize-1 {
				l.turn.end()
			}
		}
		l.turn.end()
		if n < len(l.events) {
			return false
		}
	}
}

func (l *loop) find(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		if p := &l.places[l.events[i].Fd]; p.turn == l.events[i].Pad {
			l.told[i] = p.who
		}
	}
}

// listen has w told of what comes; false where that is not possible.
func (l *loop) listen(raw syscall.RawConn, w listener) (at int32, ok bool) {
	l.mu.Lock()
	if n := len(l.free); n > 0 {
		at, l.free = l.free[n-1], l.free[:n-1]
	} else {
		at = int32(len(l.places))
		l.places = append(l.places, place{})
	}
	l.places[at].who = w
	l.count.Add(1)
	turn := l.places[at].turn
	l.mu.Unlock()
	err := raw.Control(func(fd uintptr) {
		ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: at, Pad: turn}
		ok = unix.EpollCtl(l.fd, unix.EPOLL_CTL_ADD, int(fd), &ev) == nil
	})
	if !ok || err != nil {
		l.leave(at)
		return 0, false
	}
	return at, true
}

// forget undoes listen.
func (l *loop) forget(raw syscall.RawConn, at int32) {
	l.leave(at)
	// A connection that is closed has left already.
	_ = raw.Control(func(fd uintptr) { _ = unix.EpollCtl(l.fd, unix.EPOLL_CTL_DEL, int(fd), nil) })
}

func (l *loop) leave(at int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places[at].who = nil
	l.count.Add(-1)
	l.places[at].turn++
	l.free = append(l.free, at)
}

// read reads what has come into the loop's buffer.
func (l *loop) read(fd uintptr) (int, error) {
	for { // what has come is told once
		if n, err := syscall.Read(int(fd), l.buf[:]); err != syscall.EINTR {
			return n, err
		}
	}
}
