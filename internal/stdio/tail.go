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
	line      []byte // the current incomplete line, for followers
	followers map[chan string]struct{}
	closed    bool
	ended     int // complete lines so far
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
	t.ended += bytes.Count(p, []byte("\n"))
	if len(t.followers) > 0 {
		t.followLocked(p)
	}
	return len(p), nil
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

// Count returns how many lines were written, including those no longer kept.
func (t *Tail) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.buf) > 0 && t.buf[len(t.buf)-1] != '\n' {
		return t.ended + 1
	}
	return t.ended
}

// Follow returns a channel of lines, escaped as in Lines, and a function that ends
// it. The channel first gets the kept lines, as many as its buffer holds, then new
// lines. A slow follower misses lines; the child never waits. The channel is closed
// when the child's standard error ends.
func (t *Tail) Follow(buffer int) (lines <-chan string, stop func()) {
	ch := make(chan string, max(buffer, 1))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.catchUpLocked(ch)
	if t.closed {
		close(ch)
		return ch, func() {}
	}
	if t.followers == nil {
		t.followers = make(map[chan string]struct{})
	}
	t.followers[ch] = struct{}{}
	return ch, func() { t.unfollow(ch) }
}

// catchUpLocked sends the complete lines to a new follower. The rest is the
// beginning of the next line.
func (t *Tail) catchUpLocked(ch chan string) {
	written := t.buf[max(0, len(t.buf)-tailSize):]
	end := bytes.LastIndexByte(written, '\n') + 1
	if end > 0 {
		lines := strings.Split(string(written[:end-1]), "\n")
		for _, line := range lines[max(0, len(lines)-cap(ch)):] {
			ch <- escape(strings.TrimSuffix(line, "\r"))
		}
	}
	if len(t.followers) == 0 && len(written)-end < tailLine {
		t.line = append(t.line[:0], written[end:]...)
	}
}

func (t *Tail) unfollow(ch chan string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.followers[ch]; ok {
		delete(t.followers, ch)
		close(ch)
	}
	if len(t.followers) == 0 {
		t.line = nil
	}
}

func (t *Tail) followLocked(p []byte) {
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
	for ch := range t.followers {
		select {
		case ch <- line:
		default:
		}
	}
}

// close closes the channels of all followers.
func (t *Tail) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.line) > 0 {
		t.publishLocked()
	}
	for ch := range t.followers {
		close(ch)
	}
	t.followers, t.closed = nil, true
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
