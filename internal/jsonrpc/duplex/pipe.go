package duplex

import (
	"io"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
)

// Pipe returns two connected in-memory streams. Each direction buffers up to
// 1,024 messages; then Write blocks.
func Pipe() (jsonrpc.Stream, jsonrpc.Stream) {
	ab, ba := newLane(), newLane()
	return &pipeEnd{in: ba, out: ab}, &pipeEnd{in: ab, out: ba}
}

const laneSize = 1024

// A lane is one direction of a pipe.
type lane struct {
	mu     sync.Mutex
	filled sync.Cond // signals a reader
	freed  sync.Cond // signals writers
	ring   [laneSize]*laneMessage
	head   int // the oldest message
	count  int
	closed bool
}

type laneMessage struct {
	data    []byte
	release func()
}

var laneMessages sync.Pool

func newLane() *lane {
	l := new(lane)
	l.filled.L, l.freed.L = &l.mu, &l.mu
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
	for l.count == laneSize && !l.closed {
		l.freed.Wait()
	}
	if l.closed {
		return io.ErrClosedPipe
	}
	l.ring[(l.head+l.count)%laneSize] = m
	l.count++
	l.filled.Signal()
	return nil
}

func (l *lane) read() (*laneMessage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.count == 0 && !l.closed {
		l.filled.Wait()
	}
	if l.count == 0 {
		return nil, io.EOF
	}
	m := l.ring[l.head]
	l.ring[l.head] = nil
	l.head = (l.head + 1) % laneSize
	l.count--
	l.freed.Signal()
	return m, nil
}

// close closes a lane. Its reader still gets the buffered messages unless
// discard is set.
func (l *lane) close(discard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if discard {
		l.count = 0
		clear(l.ring[:])
	}
	l.filled.Broadcast()
	l.freed.Broadcast()
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
