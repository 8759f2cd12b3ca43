// Package roots is what a client tells of its roots, asked for once and again
// when they have changed.
package roots

import (
	"bytes"
	"context"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/upstream/project"
)

// Told is what one client has told. The zero value is a client that has told
// nothing yet.
type Told struct {
	asking sync.Mutex // one request of the client asks, the others wait for it

	mu      sync.Mutex
	last    []byte // the last result of roots/list
	known   bool   // the client was asked, and nothing has changed since
	changes int
}

// Hear keeps what the client told somebody.
func (t *Told) Hear(result []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = bytes.Clone(result)
}

// Last is what the client told last; nil where it told nothing.
func (t *Told) Last() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Changed notes that the roots of the client have changed.
func (t *Told) Changed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = false
	t.changes++
}

// settled says whether what the client works on is known, and how often its
// roots have changed.
func (t *Told) settled() (known bool, changes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known, t.changes
}

// Ask asks the client what it works on, unless that is known, and tells then
// before any other request of the client goes on. again says that the client
// worked on something else before. A client that does not answer in time works
// on nothing that we know, until it says that its roots have changed.
func (t *Told) Ask(ctx context.Context, wait time.Duration, ask func(context.Context) (*jsonrpc.Response, error), then func(p *project.Project, again bool)) {
	if known, _ := t.settled(); known {
		return
	}
	t.asking.Lock()
	defer t.asking.Unlock()
	known, before := t.settled()
	if known {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	resp, err := ask(bounded)
	if ctx.Err() != nil {
		return // the request is over, and the next one asks
	}
	var p *project.Project
	if err == nil && resp.Err == nil {
		p = project.Of(resp.Result)
	}
	then(p, before > 0)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = t.changes == before
}
