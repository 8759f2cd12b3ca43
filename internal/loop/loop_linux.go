package loop

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Loop waits for many files with one goroutine. What it does for one of them
// must not wait.
type Loop struct {
	// Turn is the one that goes on.
	Turn Turn
	// Buf is for what a listener reads.
	Buf [BufferSize]byte

	fd     int
	events [64]unix.EpollEvent
	told   [64]*File

	count  atomic.Int32 // of files
	mu     sync.Mutex
	places []place
	free   []int32
}

// A place is that of a file. Its number and its turn are known to the system,
// which may tell about one that has left.
type place struct {
	file *File
	turn int32
}

// turnSize is after how many files a turn ends: whoever gets what was queued can
// begin.
const turnSize = 16

// processors are those of the beginning.
var processors = runtime.GOMAXPROCS(0)

// All are as long as the process runs. There is one for every other processor: a
// loop that waits keeps one for a while, which others then cannot have.
var All = sync.OnceValue(func() (loops []*Loop) {
	for range max(1, processors/2) {
		l, err := newLoop()
		if err != nil {
			break
		}
		loops = append(loops, l)
	}
	return loops
})

func newLoop() (*Loop, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	l := &Loop{fd: fd}
	l.Turn.Loop = l
	go l.live()
	return l, nil
}

// least is the one with the fewest files; nil where there is none.
func least() (least *Loop) {
	for _, l := range All() {
		if least == nil || l.count.Load() < least.count.Load() {
			least = l
		}
	}
	return least
}

// live never returns.
func (l *Loop) live() {
	for {
		n, err := unix.EpollWait(l.fd, l.events[:], -1)
		if err != nil {
			continue // it was interrupted: nothing else can happen to it
		}
		l.find(n)
		for i := range n {
			if f := l.told[i]; f != nil {
				f.come(l, l.events[i].Events)
				l.told[i] = nil
			}
			if i%turnSize == turnSize-1 {
				l.Turn.end()
			}
		}
		l.Turn.end()
		runtime.Gosched() // whoever was woken goes first: our processor stays with us while we wait
	}
}

func (l *Loop) find(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		if p := &l.places[l.events[i].Fd]; p.turn == l.events[i].Pad {
			l.told[i] = p.file
		}
	}
}

// Files is how many it waits for.
func (l *Loop) Files() int { return int(l.count.Load()) }

// join has f told of what comes.
func (l *Loop) join(f *File) bool {
	l.mu.Lock()
	if n := len(l.free); n > 0 {
		f.at, l.free = l.free[n-1], l.free[:n-1]
	} else {
		f.at = int32(len(l.places))
		l.places = append(l.places, place{})
	}
	l.places[f.at].file = f
	l.count.Add(1)
	f.event = unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET,
		Fd:     f.at, Pad: l.places[f.at].turn,
	}
	l.mu.Unlock()
	f.on.Store(l)
	if unix.EpollCtl(l.fd, unix.EPOLL_CTL_ADD, f.fd.number, &f.event) == nil {
		return true
	}
	l.vacate(f.at)
	return false
}

// leave undoes join.
func (l *Loop) leave(f *File) {
	_ = unix.EpollCtl(l.fd, unix.EPOLL_CTL_DEL, f.fd.number, &f.event)
	l.vacate(f.at)
}

// vacate gives a place to others.
func (l *Loop) vacate(at int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places[at].file = nil
	l.places[at].turn++
	l.free = append(l.free, at)
	l.count.Add(-1)
}

// Read reads what has come into the loop's buffer.
func (l *Loop) Read(fd uintptr) (int, error) {
	for { // what has come is told once
		if n, err := syscall.Read(int(fd), l.Buf[:]); err != syscall.EINTR {
			return n, err
		}
	}
}
