package mcptest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// ErrEnded means that a program's output ended without the expected line.
var ErrEnded = errors.New("the output ended")

// Lines collects the lines that a program writes.
type Lines struct {
	mu      sync.Mutex
	change  *sync.Cond
	partial strings.Builder
	lines   []string
	claimed []bool
	ended   bool
}

func newLines() *Lines {
	l := &Lines{}
	l.change = sync.NewCond(&l.mu)
	return l
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial.Write(p)
	if strings.IndexByte(string(p), '\n') < 0 {
		return len(p), nil
	}
	text := l.partial.String()
	l.partial.Reset()
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok {
			l.partial.WriteString(line)
			break
		}
		l.lines, l.claimed = append(l.lines, line), append(l.claimed, false)
		text = rest
	}
	l.change.Broadcast()
	return len(p), nil
}

func (l *Lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.change.Broadcast()
}

// All returns the whole output so far.
func (l *Lines) All() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(append(l.lines[:len(l.lines):len(l.lines)], l.partial.String()), "\n")
}

// Find waits for an unclaimed line that matches, and claims it.
func (l *Lines) Find(limit time.Duration, match func(line string) bool) (string, error) {
	late := false
	timer := time.AfterFunc(limit, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		late = true
		l.change.Broadcast()
	})
	defer timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for seen := 0; ; {
		for ; seen < len(l.lines); seen++ {
			if !l.claimed[seen] && match(l.lines[seen]) {
				l.claimed[seen] = true
				return l.lines[seen], nil
			}
		}
		switch {
		case l.ended:
			return "", ErrEnded
		case late:
			return "", fmt.Errorf("nothing like it in %v", limit)
		}
		l.change.Wait()
	}
}

// Unclaimed returns the lines that no call of Find has returned.
func (l *Lines) Unclaimed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []string
	for i, line := range l.lines {
		if !l.claimed[i] {
			list = append(list, line)
		}
	}
	return list
}
