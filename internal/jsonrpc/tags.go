package jsonrpc

import (
	"bytes"
	"context"
)

// Tags let one connection carry the requests of many clients: what stands before
// a message says for whom it is sent, or to which request it belongs. They are
// for two sides that trust each other.
type Tags struct {
	// For is the tag of a request or a notification that is sent: a text without
	// brace and line break that begins with no @. It may be nil.
	For func(ctx context.Context) string
	// Asked lets the context of what the peer sent know what its tag says, which
	// is valid during the call only. It may be nil, and is called by one
	// goroutine.
	Asked func(ctx context.Context, tag []byte) context.Context
}

// about begins the tag of what belongs to a request; its id follows.
const about = '@'

// append writes the tag of what is sent on our own account, or because of a
// request of the peer.
func (t *Tags) append(head []byte, ctx context.Context, in *inbound) []byte {
	switch {
	case t == nil:
	case in != nil:
		head = append(append(head, about), in.id...)
	case t.For != nil:
		head = append(head, t.For(ctx)...)
	}
	return head
}

// back is who hears what the peer says because of a request.
func (t *Tags) back(req *Request) Handler {
	if t == nil {
		return nil
	}
	return req.Back
}

// cut splits data into the tag and the message. The tag is nil if there is none.
func (t *Tags) cut(data []byte) (tag, msg []byte) {
	if t == nil || len(data) == 0 || data[0] == '{' {
		return nil, data
	}
	if i := bytes.IndexByte(data, '{'); i > 0 {
		return data[:i], data[i:]
	}
	return nil, data
}

// whose is who answers a message with a tag: nobody when it belongs to a call
// that has ended, the Back of the call that it belongs to, else the handler of
// the connection.
func (t *Tags) whose(c *Conn, ctx context.Context, tag []byte) (context.Context, Handler) {
	if tag[0] == about {
		id, _ := decimal(tag[1:])
		back, waits := c.calls.backOf(id)
		if waits && back == nil {
			back = c.opt.Handler
		}
		return ctx, back
	}
	if t.Asked != nil {
		ctx = t.Asked(ctx, tag)
	}
	return ctx, c.opt.Handler
}
