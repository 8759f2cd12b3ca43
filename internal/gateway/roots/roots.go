// Package roots keeps the roots of a client. It asks for them once, and again
// after they changed.
package roots

import (
	"bytes"
	"context"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/upstream/project"
)

// Told holds the roots of one client. The zero value is a client that was not
// asked yet.
type Told struct {
	asking sync.Mutex // one request asks the client, the others wait

	mu      sync.Mutex
	last    []byte // the last result of roots/list
	known   bool   // the client was asked, and nothing has changed since
	changes int
}

// Hear stores a result of roots/list, unless retain, which counts the additional
// bytes, returns an error.
func (t *Told) Hear(result []byte, retain func(n int) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The project of the client keeps the roots too.
	if err := retain(2 * (len(result) - len(t.last))); err != nil {
		return err
	}
	t.last = bytes.Clone(result)
	return nil
}

// Last returns the last result of roots/list; nil for none.
func (t *Told) Last() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Changed records that the roots of the client have changed.
func (t *Told) Changed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = false
	t.changes++
}

// settled reports whether the client's project is known, and how often its roots
// have changed.
func (t *Told) settled() (known bool, changes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known, t.changes
}

// Ask asks the client for its roots, unless its project is known, and calls then
// before any other request of the client continues. again is set if the client
// had another project before. of returns the project of an answer. If the client
// does not answer in time, Ask uses of(nil), until the client reports that its
// roots changed.
func (t *Told) Ask(ctx context.Context, wait time.Duration, ask func(context.Context) (*jsonrpc.Response, error), of func([]byte) *project.Project, then func(p *project.Project, again bool)) {
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
		return // the request is over; the next one asks
	}
	var result []byte
	if err == nil && resp.Err == nil {
		result = resp.Result
	}
	then(of(result), before > 0)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = t.changes == before
}
