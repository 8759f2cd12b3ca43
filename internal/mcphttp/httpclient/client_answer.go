package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/lastbuf"
	"mcp-all-in-one/internal/mcphttp/sse"
)

// answerClasses are the sizes of pooled buffers. Of larger buffers only one is
// kept. The garbage collector frees unused buffers after a while.
var answerClasses = [...]int{sse.EventBuffer, 16 << 10, 64 << 10, 256 << 10, 5 << 18}

// editRoom is spare capacity of a large response, for additions to it.
const editRoom = 64

var (
	answerPools [len(answerClasses)]sync.Pool
	largeAnswer lastbuf.Last[answerBuffer]
)

// An answerBuffer is the memory of one response; free returns it to the pool.
type answerBuffer struct {
	b    []byte
	free func()
}

// newAnswerBuffer returns a buffer of the given length.
func newAnswerBuffer(size int) *answerBuffer {
	for i, class := range answerClasses {
		if size > class {
			continue
		}
		buf, ok := answerPools[i].Get().(*answerBuffer)
		if !ok {
			buf = &answerBuffer{b: make([]byte, class)}
			buf.free = buf.giveBack
		}
		buf.b = buf.b[:size]
		return buf
	}
	buf := largeAnswer.Take()
	if buf == nil || cap(buf.b) < size+editRoom || cap(buf.b) > 4*size { // a slow reader would hold all of it
		buf = &answerBuffer{b: make([]byte, size+editRoom)}
		buf.free = buf.giveBack
	}
	buf.b = buf.b[:size]
	return buf
}

// giveBack returns the buffer to the pool of its size; it may have grown.
func (buf *answerBuffer) giveBack() {
	size := cap(buf.b)
	if size > 2*answerClasses[len(answerClasses)-1] {
		largeAnswer.Give(buf)
		return
	}
	for i := len(answerClasses) - 1; i >= 0; i-- {
		if size >= answerClasses[i] {
			answerPools[i].Put(buf)
			return
		}
	}
}

// grow moves b to a buffer of at least the given size, which then belongs to buf.
func (buf *answerBuffer) grow(b []byte, size int) []byte {
	bigger := newAnswerBuffer(size)
	room := bigger.b[:copy(bigger.b[:cap(bigger.b)], b)]
	bigger.b, buf.b = b, room
	bigger.giveBack()
	return room
}

// whole reads a response that is one JSON body.
func (x *exchange) whole(ctx context.Context, resp *http.Response) (*jsonrpc.Response, error) {
	buf, err := readWhole(resp.Body, resp.ContentLength, x.c.opt.MaxMessage)
	resp.Body.Close()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, err
	}
	if id, result, ok := jsonrpc.PeekAnswer(buf.b); ok && id == x.id {
		return jsonrpc.NewResponse(result, buf.free), nil
	}
	if jsonrpc.IsBatch(buf.b) {
		return x.fromBatch(ctx, buf)
	}
	msg, bad := jsonrpc.ScanAnswer(buf.b, nil)
	if bad == nil {
		if out := x.outcome(&msg, buf); out != nil {
			return out, nil
		}
	}
	reason := i18n.New("the answer does not belong to the request", "应答与请求不对应")
	if bad != nil {
		reason = i18n.New("the answer cannot be read: %s", "无法读取应答：%s", bad.Message)
	}
	return nil, &AnswerError{Reason: reason}
}

// readWhole reads a body into one buffer, of exactly its size if that is known.
func readWhole(body io.Reader, length, limit int64) (*answerBuffer, error) {
	if length > limit {
		return nil, jsonrpc.ErrTooLarge
	}
	if length >= 0 {
		buf := newAnswerBuffer(int(length))
		if _, err := io.ReadFull(body, buf.b); err != nil {
			return nil, errors.Join(ErrStreamEnded, err)
		}
		return buf, nil
	}
	buf := newAnswerBuffer(0)
	for {
		if len(buf.b) == cap(buf.b) {
			buf.grow(buf.b, sse.MoreRoom(len(buf.b), int(limit)+1))
		}
		n, err := body.Read(buf.b[len(buf.b):cap(buf.b)])
		buf.b = buf.b[:len(buf.b)+n]
		if int64(len(buf.b)) > limit {
			return nil, jsonrpc.ErrTooLarge
		}
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, errors.Join(ErrStreamEnded, err)
		}
	}
}

// fromBatch finds the response to our request in a batch.
func (x *exchange) fromBatch(ctx context.Context, buf *answerBuffer) (*jsonrpc.Response, error) {
	parts, bad := jsonrpc.SplitBatch(buf.b, nil)
	if bad != nil {
		return nil, &AnswerError{Reason: i18n.New("the answer cannot be read: %s", "无法读取应答：%s", bad.Message)}
	}
	in := x.c.newInbox(x.req.Back)
	var out *jsonrpc.Response
	for _, part := range parts {
		msg, bad := jsonrpc.ScanAnswer(part, nil)
		if bad != nil {
			continue
		}
		if resp := x.outcome(&msg, buf); resp != nil {
			out = resp
			continue
		}
		in.take(ctx, &msg)
	}
	if out == nil {
		return nil, &AnswerError{Reason: i18n.New("the answer does not belong to the request", "应答与请求不对应")}
	}
	return out, nil
}

// outcome returns the response if msg is the response to our request, nil
// otherwise. Its result is in buf.
func (x *exchange) outcome(msg *jsonrpc.Message, buf *answerBuffer) *jsonrpc.Response {
	switch {
	case msg.Kind == jsonrpc.KindResult && x.isOurs(msg.ID):
		return jsonrpc.NewResponse(msg.Result, buf.free)
	case msg.Kind == jsonrpc.KindError && (x.isOurs(msg.ID) || len(msg.ID) == 0 || string(msg.ID) == "null"):
		return &jsonrpc.Response{Err: jsonrpc.ParseError(msg.Err)}
	}
	return nil
}

func (x *exchange) isOurs(id []byte) bool {
	n, ok := jsonrpc.OwnNumber(id)
	return ok && n == x.id
}
