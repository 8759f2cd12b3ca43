package duplex

import (
	"bytes"
	"context"
	"strconv"

	"mcp-all-in-one/internal/jsonrpc"
)

// Tags let one connection carry the requests of many clients. The text before a
// message names the client or the request that the message belongs to. Tags are
// for two sides that trust each other.
type Tags struct {
	// For returns the tag of an outgoing request or notification: a text
	// without brace and line break that does not begin with @. It may be nil.
	For func(ctx context.Context) string
	// Asked adds the meaning of a received tag to the context of the message.
	// tag is valid during the call only. Asked may be nil, and is called by one
	// goroutine.
	Asked func(ctx context.Context, tag []byte) context.Context
}

// about is the first byte of a tag that refers to a request; the id follows.
const about = '@'

// append appends the tag of an outgoing message. in is the request of the peer
// on whose behalf the message is sent, or nil.
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

// back returns the handler for messages that the peer sends because of req.
func (t *Tags) back(req *jsonrpc.Request) jsonrpc.Handler {
	if t == nil {
		return nil
	}
	return req.Back
}

// cut splits data into tag and message. tag is nil if there is none.
func (t *Tags) cut(data []byte) (tag, msg []byte) {
	if t == nil || len(data) == 0 || data[0] == '{' {
		return nil, data
	}
	if i := bytes.IndexByte(data, '{'); i > 0 {
		return data[:i], data[i:]
	}
	return nil, data
}

// whose returns the handler of a tagged message. For a tag that refers to a
// call, this is the Back of the call, or nil if the call has ended. Otherwise
// it is the handler of the connection.
func (t *Tags) whose(c *Conn, ctx context.Context, tag []byte) (context.Context, jsonrpc.Handler) {
	if tag[0] == about {
		id, _ := strconv.ParseUint(string(tag[1:]), 10, 64)
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
