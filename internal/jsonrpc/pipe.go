package jsonrpc

import (
	"io"
	"sync"
)

// Pipe returns two streams in memory: what is written to one is read from the
// other. Each direction holds up to 1,024 messages; then Write waits.
func Pipe() (Stream, Stream) {
	ab, ba := newLane(), newLane()
	return &pipeEnd{in: ba, out: ab}, &pipeEnd{in: ab, out: ba}
}

const laneSize = 1024

// A lane is one direction of a pipe.
type lane struct {
	mu     sync.Mutex
	change sync.Cond
	queue  []*laneMessage
	closed bool
	// readers and writers say who waits for change.
	waiting int
}

type laneMessage struct {
	data    []byte
	release func()
}

var laneMessages sync.Pool

func newLane() *lane {
	l := new(lane)
	l.change.L = &l.mu
	return l
}

func (l *lane) write(parts [][]byte) error {
	m, _ := laneMessages.Get().(*laneMessage)
	if m == nil {
		m = new(laneMessage)
		m.release = func() { laneMessages.Put(m) }
	}
	m.data = m.data[:0]
	for _, p := range parts {
		m.data = append(m.data, p...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) >= laneSize && !l.closed {
		l.wait()
	}
	if l.closed {
		return io.ErrClosedPipe
	}
	l.queue = append(l.queue, m)
	l.wake()
	return nil
}

func (l *lane) read() (*laneMessage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.wait()
	}
	if len(l.queue) == 0 {
		return nil, io.EOF
	}
	m := l.queue[0]
	copy(l.queue, l.queue[1:])
	l.queue = l.queue[:len(l.queue)-1]
	l.wake()
	return m, nil
}

func (l *lane) wait() {
	l.waiting++
	l.change.Wait()
	l.waiting--
}

func (l *lane) wake() {
	if l.waiting > 0 {
		l.change.Broadcast()
	}
}

func (l *lane) close(discard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if discard {
		l.queue = nil
	}
	l.change.Broadcast()
}

type pipeEnd struct{ in, out *lane }

func (p *pipeEnd) Read() ([]byte, func(), error) {
	m, err := p.in.read()
	if err != nil {
		return nil, nil, err
	}
	return m.data, m.release, nil
}

func (p *pipeEnd) Write(parts ...[]byte) error { return p.out.write(parts) }

func (p *pipeEnd) Close() error {
	p.out.close(false)
	p.in.close(true)
	return nil
}
