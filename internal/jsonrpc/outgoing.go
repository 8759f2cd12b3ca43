package jsonrpc

import "sync"

// An outgoing message is built around its payload, which is not copied.
type outgoing struct {
	head, tail []byte
	parts      [3][]byte
}

var outgoings = sync.Pool{New: func() any { return new(outgoing) }}

func newOutgoing() *outgoing { return outgoings.Get().(*outgoing) }

func (o *outgoing) free() {
	o.head, o.tail = o.head[:0], o.tail[:0]
	o.parts = [3][]byte{}
	if cap(o.head) <= 4096 && cap(o.tail) <= 4096 {
		outgoings.Put(o)
	}
}

// around returns the message with its payload.
func (o *outgoing) around(payload []byte) [][]byte {
	o.parts = [3][]byte{o.head, payload, o.tail}
	return o.parts[:]
}

// call completes a request or notification whose head is begun.
func (o *outgoing) call(method string, params []byte) [][]byte {
	o.head = append(o.head, `"method":`...)
	o.head = appendQuoted(o.head, method)
	if params != nil {
		o.head = append(o.head, `,"params":`...)
	}
	o.tail = append(o.tail, '}')
	return o.around(params)
}

// answer makes a response; see AppendResponse for the place of its id.
func (o *outgoing) answer(id []byte, r *Response) [][]byte {
	o.tail = appendIDLast(o.tail, id)
	if r.Err != nil {
		o.head = AppendError(append(o.head, `{"jsonrpc":"2.0","error":`...), r.Err)
		return o.around(nil)
	}
	o.head = append(o.head, resultMid...)
	return o.around(r.Result)
}
