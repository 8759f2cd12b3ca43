package stdio

import (
	"net"
	"os"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/loop"
)

// A parking has a loop read, instead of a goroutine that waits, as long as all that
// comes can be told without waiting. Whoever reads has the lineReader to himself.
type parking struct {
	in   *lineReader
	file *loop.File
	hear func(t *loop.Turn, msg []byte, release func()) bool
	back chan struct{} // the reader goes on
	gone <-chan struct{}

	empty bool        // nothing was left by the last time that was read
	seen  uint64      // of the file, before that
	last  atomic.Bool // nothing will be told any more

	mu     sync.Mutex
	parked bool // the loop reads
}

// newParking returns nil where there is no loop.
func newParking(in *lineReader, gone <-chan struct{}, hear func(*loop.Turn, []byte, func()) bool) *parking {
	f, ok := in.r.(*loop.File)
	if !ok {
		return nil
	}
	p := &parking{in: in, file: f, hear: hear, back: make(chan struct{}, 1), gone: gone}
	f.Listen(p)
	return p
}

// fill reads for the reader, or returns when the loop has done so.
func (p *parking) fill() {
	if !p.empty || p.last.Load() {
		p.more()
		return
	}
	p.in.waits()
	p.mu.Lock()
	p.parked = true
	if p.file.Seen() != p.seen || p.last.Load() {
		p.file.Listen(p) // what has come meanwhile was told to nobody, nor was the end
	}
	p.mu.Unlock()
	select {
	case <-p.back:
	case <-p.gone:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.parked, p.in.err = false, os.ErrClosed
	}
}

// more reads once.
func (p *parking) more() {
	r := p.in
	room := r.room()
	p.seen = p.file.Seen()
	n, err := p.file.ReadNow(room)
	if err == net.ErrClosed {
		err = os.ErrClosed // as of any other pipe
	}
	r.end, r.err = r.end+n, err
	if p.empty = n < len(room); n == 0 && err == nil {
		p.last.Store(false) // somebody has opened the pipe again
	}
}

// maxReads is how many chunks a loop reads before others have their turn.
const maxReads = 4

// Ready implements loop.Listener.
func (p *parking) Ready(l *loop.Loop, last bool) {
	if last {
		p.last.Store(true) // before the reader looks again
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.parked {
		return // the reader sees for itself
	}
	for range maxReads {
		if p.more(); !p.told(&l.Turn) {
			p.parked = false
			p.back <- struct{}{}
			return
		}
		if p.empty && !p.last.Load() {
			return // whatever comes now is told
		}
	}
	p.file.Listen(p) // and the rest told again
}

// told tells what was read, but what is left to the reader: then it is false.
func (p *parking) told(t *loop.Turn) bool {
	r := p.in
	for line, next := r.found(); next > 0; line, next = r.found() {
		if int64(len(line)) > r.limit || blank(line) || !p.tell(t, line) {
			return false
		}
		r.start, r.scanned = next, next
		r.settle()
	}
	r.await(int64(r.end - r.start))
	return r.err == nil && r.end-r.start < chunkSize
}

func (p *parking) tell(t *loop.Turn, line []byte) bool {
	msg, release := lend(line)
	told := p.hear(t, msg, release)
	if !told && release != nil {
		release()
	}
	return told
}
