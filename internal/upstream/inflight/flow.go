package inflight

import (
	"bytes"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

const (
	// noticeRate is how many notifications of one server reach clients in a
	// second, on the average; noticeBurst how many may come at once.
	noticeRate  = 200
	noticeBurst = 1000
)

// A flow limits what a server tells clients: one that floods must not have
// them cut off as slow readers.
type flow struct {
	mu    sync.Mutex
	spent float64 // of noticeBurst
	at    time.Time
}

// allow takes one notification's worth, false when there is none left.
func (f *flow) allow() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if !f.at.IsZero() {
		f.spent = max(0, f.spent-noticeRate*now.Sub(f.at).Seconds())
	}
	f.at = now
	if f.spent >= noticeBurst {
		return false
	}
	f.spent++
	return true
}

// progress is the progress of one call on its way to the client. While the
// server is over its rate, the latest report stands for those before it.
type progress struct {
	mu     sync.Mutex
	latest *jsonrpc.Notification // held back
	over   bool
}

// report passes a report on, or keeps it for later.
func (p *progress) report(n *jsonrpc.Notification, allowed bool, pass func(*jsonrpc.Notification)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.over:
	case allowed:
		p.latest = nil
		pass(n)
	default:
		p.latest = &jsonrpc.Notification{Method: n.Method, Params: bytes.Clone(n.Params)}
	}
}

// finish passes on what was held back: nothing follows.
func (p *progress) finish(pass func(*jsonrpc.Notification)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.latest != nil {
		pass(p.latest)
		p.latest = nil
	}
}
