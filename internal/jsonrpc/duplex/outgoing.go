package duplex

import (
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
)

// An outgoing message is assembled around its payload without copying it.
type outgoing struct {
	head, tail []byte
	own        []byte // a payload that the message owns
	parts      [3][]byte
}

var outgoings = sync.Pool{New: func() any { return new(outgoing) }}

func newOutgoing() *outgoing { return outgoings.Get().(*outgoing) }

func (o *outgoing) free() {
	o.head, o.tail, o.own = o.head[:0], o.tail[:0], o.own[:0]
	o.parts = [3][]byte{}
	if cap(o.head) <= 4096 && cap(o.tail) <= 4096 && cap(o.own) <= 4096 {
		outgoings.Put(o)
	}
}

// around returns the message with its payload.
func (o *outgoing) around(payload []byte) [][]byte {
	o.parts = [3][]byte{o.head, payload, o.tail}
	return o.parts[:]
}

// call completes a request or notification whose head has been started. params
// is the payload.
func (o *outgoing) call(method string, params []byte) {
	o.head = append(o.head, `"method":`...)
	o.head = jsonrpc.AppendQuoted(o.head, method)
	if params != nil {
		o.head = append(o.head, `,"params":`...)
	}
	o.tail = append(o.tail, '}')
}

// answer builds a response and returns its payload. AppendResponse explains the
// position of the id.
func (o *outgoing) answer(id []byte, r *jsonrpc.Response) []byte {
	o.tail = jsonrpc.AppendIDLast(o.tail, id)
	if r.Err != nil {
		o.head = append(o.head, `{"jsonrpc":"2.0","error":`...)
		o.own = jsonrpc.AppendError(o.own, r.Err)
		return o.own
	}
	o.head = append(o.head, `{"jsonrpc":"2.0","result":`...)
	return r.Result
}
