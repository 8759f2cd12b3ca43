// Package visit sends the person at a client to a web page before a call can run.
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

// A Place is the address at which a client reached the gateway.
type Place struct {
	// Host is empty if it is not known.
	Host string
	// Secure is set if a reverse proxy serves HTTPS at this address.
	Secure bool
}

// A Question is a value of the principal that a call needs.
type Question struct {
	Who     access.Principal
	At      Place
	Missing *failure.ValueError
}

// An Asker returns the address of a page where a person enters a value, or an
// empty text if the gateway has no such page. A nil Asker means the same.
type Asker func(Question) string

// OrElicit returns resp and err, or, if err says that a value is missing and the
// client can open a URL, the URL elicitation error of 2025-11-25. The call did not
// run, and the client repeats it.
func (ask Asker) OrElicit(resp *jsonrpc.Response, err error, c *upstream.Caller, rules mcp.Version, q Question) (*jsonrpc.Response, error) {
	if ask == nil || err == nil || c == nil {
		return resp, err
	}
	var missing *failure.ValueError // declared here, so that calls without an error do not allocate
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
