// Package visit leads the person at a client to a page that a call needs first.
package visit

import (
	"crypto/rand"
	"errors"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/failure"
)

// A Place is where a client found us, and was let in.
type Place struct {
	// Host is empty where that is not known.
	Host string
	// Secure says that a proxy before us speaks HTTPS there.
	Secure bool
}

// A Question is a value of a principal's own that a call lacks.
type Question struct {
	Who     access.Principal
	At      Place
	Missing *failure.ValueError
}

// An Asker returns the address of a page where a person enters a value, or an
// empty text if the gateway has no such page. A nil Asker means the same.
type Asker func(Question) string

// Instead is the answer to a call that ended so: where it lacks a value, and its
// client can open a URL, the error by which 2025-11-25 asks for a visit. The call
// did not run, and the client makes it again.
func (ask Asker) Instead(resp *jsonrpc.Response, err error, c *upstream.Caller, rules mcp.Version, q Question) (*jsonrpc.Response, error) {
	if ask == nil || err == nil || c == nil {
		return resp, err
	}
	var missing *failure.ValueError // here, so that calls without an error cost nothing
	if !errors.As(err, &missing) {
		return resp, err
	}
	q.Missing = missing
	if !c.Offer.For(rules).ElicitURL {
		return nil, mcp.Failure(mcp.ValueMissing, missing.Server, missing.Error()+"; or use a client with URL elicitation, which is led to a page for it")
	}
	url := ask(q)
	if url == "" {
		return resp, err
	}
	return &jsonrpc.Response{Err: jsonrpc.Errorf(mcp.CodeElicitURL, "%s", missing.Error()).WithData(map[string]any{
		"elicitations": []map[string]string{{"mode": "url", "elicitationId": rand.Text(), "url": url, "message": missing.Question()}},
	})}, nil
}
