package inflight

import (
	"bytes"
	"sync"

	"golang.org/x/time/rate"

	"mcp-all-in-one/internal/jsonrpc"
)

const (
	// noticeRate is how many notifications of one server per second reach clients
	// on average; noticeBurst is how many may arrive at once.
	noticeRate  = 200
	noticeBurst = 1000
)

// NewFlow returns the limit of the notifications of a server. Without it a server
// that floods its clients would have them disconnected as slow readers.
func NewFlow() *rate.Limiter { return rate.NewLimiter(noticeRate, noticeBurst) }

// progress passes the progress of one call on to the client. While the server
// exceeds its rate, only the latest report is kept.
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

// finish passes on the report that was held back. No report follows.
func (p *progress) finish(pass func(*jsonrpc.Notification)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.latest != nil {
		pass(p.latest)
		p.latest = nil
	}
}
