package mcphttp

import (
	"errors"
	"net/http"
	"strconv"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/wire"
)

// A shortWay sends a request without making one of net/http: most requests and
// their answers are the same but for a few bytes.
type shortWay struct {
	to     *wire.Target
	signer signer // nil where nobody signs
}

// A signer is a transport that sends requests through another one and adds a
// credential only.
type signer interface {
	Base() http.RoundTripper
	// Authorization is what it would add to a request now, empty for nothing.
	// It reports false when RoundTrip has to do it. used is for Refused.
	Authorization() (value string, used any, ok bool)
	// Refused makes of an answer of 401 or 403 what RoundTrip would; r is the
	// request without what was added to it.
	Refused(r *http.Request, used any, resp *http.Response) (*http.Response, error)
}

// newShortWay returns nil where there is none.
func newShortWay(rt http.RoundTripper, base *http.Request) *shortWay {
	s := &shortWay{}
	if over, ok := rt.(signer); ok {
		s.signer, rt = over, over.Base()
	}
	t, ok := rt.(*ClientTransport)
	if !ok || base == nil {
		return nil
	}
	if s.to = t.short.Target(base.URL, base.Host); s.to == nil {
		return nil
	}
	return s
}

// run sends the request and returns its outcome.
func (x *exchange) run() (*jsonrpc.Response, error) {
	msg, body, used := x.compose()
	if msg == nil {
		return x.runLong()
	}
	length, other, err := x.f.post.Send(x.c.short.to, msg, body, x.f)
	return x.received(length, other, err, used)
}

// received goes on where a Post has sent the request.
func (x *exchange) received(length int64, other *http.Response, err error, used any) (*jsonrpc.Response, error) {
	post := &x.f.post
	switch {
	case err != nil:
		return nil, err
	case other != nil:
		return x.other(other, used)
	case length > x.c.opt.MaxMessage:
		post.Leave()
		return nil, jsonrpc.ErrTooLarge
	}
	if b, release := post.Take(length); b != nil {
		return x.understand(b, release)
	}
	buf := newAnswerBuffer(int(length))
	if err := post.Read(buf.b); err != nil {
		buf.free()
		return nil, errors.Join(ErrStreamEnded, err)
	}
	return x.understand(buf.b, buf.free)
}

// other goes on with an answer that is not plain.
func (x *exchange) other(resp *http.Response, used any) (*jsonrpc.Response, error) {
	ctx, signer := x.f.Context(), x.c.short.signer
	if signer != nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
		header := x.c.headerFor(x.req.Method, x.req.Params)
		var err error
		if resp, err = signer.Refused(x.c.request(ctx, http.MethodPost, header, x.message()), used, resp); err != nil {
			return nil, err
		}
	}
	return x.consume(ctx, resp)
}

// compose makes the whole request, whose message begins at body; nil where it
// has to take the long way.
func (x *exchange) compose() (msg []byte, body int, used any) {
	s, st := x.c.short, x.c.state.Load()
	// What is written around params takes less than what is left.
	if st.head == nil || x.req.Method == mcp.MethodInitialize || len(x.req.Params)+len(x.req.Method) > wire.MaxPost-1<<10 {
		return nil, 0, nil
	}
	authorization, ok := "", true
	if s.signer != nil {
		if authorization, used, ok = s.signer.Authorization(); !ok {
			return nil, 0, nil
		}
	}
	b := append(x.f.post.Buffer(), st.head...)
	if authorization != "" {
		b, ok = wire.AppendField(b, "Authorization", authorization)
	}
	if ok && x.c.opt.Modern {
		b, ok = x.c.appendFields(b, x.req.Method, x.req.Params)
	}
	if !ok {
		x.f.post.Drop()
		return nil, 0, nil
	}
	var digits [20]byte
	return jsonrpc.AppendRequest(b, strconv.AppendUint(digits[:0], x.id, 10), x.req.Method, x.req.Params), len(b), used
}

// appendFields appends what a message to a modern server has in its head.
func (c *Client) appendFields(b []byte, method string, params []byte) ([]byte, bool) {
	b, ok := wire.AppendField(b, headerMethod, method)
	for name, value := range c.fieldsFor(method, params) {
		if ok {
			b, ok = wire.AppendField(b, name, value)
		}
	}
	return b, ok
}
