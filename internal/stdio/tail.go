package stdio

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	// tailSize is how much of a child's standard error is kept.
	tailSize = 64 << 10
	// tailLine is the length at which a line without an end is cut for followers.
	tailLine = 8 << 10
)

// A Tail keeps the last 64 KiB that a child wrote to its standard error. Its
// methods may be called concurrently.
type Tail struct {
	mu        sync.Mutex
	buf       []byte // up to twice tailSize, so that it is rarely moved
	line      []byte // the current incomplete line, for listeners
	listeners map[*listener]struct{}
	closed    bool
}

// Write appends output. It never blocks and never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := p[max(0, len(p)-tailSize):]
	if len(t.buf)+len(kept) > 2*tailSize {
		n := copy(t.buf, t.buf[len(t.buf)-(tailSize-len(kept)):])
		t.buf = t.buf[:n]
	}
	t.buf = append(t.buf, kept...)
	if len(t.listeners) > 0 {
		t.cutLocked(p)
	}
	return len(p), nil
}

// A listener gets the lines as they are written, and is told when there are no
// more.
type listener struct {
	line func(line string)
	end  func()
}

// Lines returns the last n lines, or all that are kept if n is not positive.
// Control characters are escaped, so that the lines can be printed anywhere.
func (t *Tail) Lines(n int) []string {
	t.mu.Lock()
	kept := bytes.Clone(t.buf[max(0, len(t.buf)-tailSize):])
	t.mu.Unlock()
	text := strings.TrimSuffix(string(kept), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if n > 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	for i, line := range lines {
		lines[i] = escape(strings.TrimSuffix(line, "\r"))
	}
	return lines
}

// Hear calls f with each kept line, escaped as in Lines, and with each new line.
// f must neither block nor use the Tail.
func (t *Tail) Hear(f func(line string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listenLocked(&listener{line: f, end: func() {}}, 0)
}

// Follow is like Hear, but returns a channel and a function that ends it. The
// channel first gets the last kept lines, as many as its buffer holds. A slow
// follower misses lines; the child never waits. The channel is closed when the
// child's standard error ends.
func (t *Tail) Follow(buffer int) (lines <-chan string, stop func()) {
	ch := make(chan string, max(buffer, 1))
	l := &listener{end: func() { close(ch) }}
	l.line = func(line string) {
		select {
		case ch <- line:
		default:
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listenLocked(l, cap(ch))
	return ch, func() { t.unlisten(l) }
}

// listenLocked tells l the last most complete lines, or all if most is 0, and
// adds it. The rest is the beginning of the next line.
func (t *Tail) listenLocked(l *listener, most int) {
	written := t.buf[max(0, len(t.buf)-tailSize):]
	end := bytes.LastIndexByte(written, '\n') + 1
	if end > 0 {
		lines := strings.Split(string(written[:end-1]), "\n")
		if most > 0 {
			lines = lines[max(0, len(lines)-most):]
		}
		for _, line := range lines {
			l.line(escape(strings.TrimSuffix(line, "\r")))
		}
	}
	if t.closed {
		l.end()
		return
	}
	if len(t.listeners) == 0 {
		t.listeners = make(map[*listener]struct{})
		if len(written)-end < tailLine {
			t.line = append(t.line[:0], written[end:]...)
		}
	}
	t.listeners[l] = struct{}{}
}

func (t *Tail) unlisten(l *listener) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.listeners[l]; ok {
		delete(t.listeners, l)
		l.end()
	}
	if len(t.listeners) == 0 {
		t.line = nil
	}
}

// cutLocked cuts output into lines for the listeners.
func (t *Tail) cutLocked(p []byte) {
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n')
		ended := n >= 0
		if !ended {
			n = len(p)
		}
		if room := tailLine - len(t.line); n > room {
			n, ended = room, false
		}
		t.line = append(t.line, p[:n]...)
		p = p[n:]
		if ended {
			p = p[1:]
		}
		if ended || len(t.line) == tailLine {
			t.publishLocked()
		}
	}
}

func (t *Tail) publishLocked() {
	line := escape(strings.TrimSuffix(string(t.line), "\r"))
	t.line = t.line[:0]
	for l := range t.listeners {
		l.line(line)
	}
}

// close tells the listeners that nothing more follows.
func (t *Tail) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.line) > 0 {
		t.publishLocked()
	}
	for l := range t.listeners {
		l.end()
	}
	t.listeners, t.closed = nil, true
}

// escape replaces characters that a terminal could interpret, or that are
// invisible, with Go escape sequences.
func escape(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[0])|0x100, 16)[1:])
		case isShown(r):
			b.WriteString(s[:n])
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		s = s[n:]
	}
	return b.String()
}

func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

func isShown(r rune) bool { return r == '\t' || unicode.IsGraphic(r) }
