package peer

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcphttp/sse"
)

// held is how much of a response is buffered before it is passed on. If the owner
// dies before that, the client can still get an error.
const held = 64 << 10

// heldStream is the same for a stream outside any call: enough for most notifications.
const heldStream = 512

var buffers = sync.Pool{New: func() any { b := make([]byte, held); return &b }}

// lost returns the error of a call whose replica died while it ran.
func (f *Counter) lost(o Owner) *jsonrpc.Error {
	f.gone.Add(1)
	return mcp.Failure(mcp.OwnerLost, "", fmt.Sprintf("replica %s, which ran this call, was lost: it may have run", o.Node))
}

// fail answers a request with an error. For a legacy session it does not use an
// HTTP error status once the message is read: clients would drop the session.
func (n *Node) fail(w http.ResponseWriter, a *mcphttp.Away, e *jsonrpc.Error) {
	h := w.Header()
	switch {
	case a.Request.Method != http.MethodPost || a.Page:
		h.Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	case a.Quiet:
		w.WriteHeader(http.StatusAccepted)
	default:
		h.Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		w.Write(jsonrpc.AppendResponse(nil, a.ID, &jsonrpc.Response{Err: e}))
	}
}

// copy copies the response of another replica to the client as it arrives.
func (n *Node) copy(w http.ResponseWriter, a *mcphttp.Away, resp *http.Response, from Owner, h *handing) {
	c := &copying{n: n, w: w, out: response{w, http.NewResponseController(w)}, a: a, from: from}
	events := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	if events && a.Request.Method == http.MethodGet {
		c.stream(resp, h)
		return
	}
	defer resp.Body.Close()
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	c.buf = *buf
	if !events && resp.ContentLength >= 0 && resp.ContentLength <= held {
		c.whole(resp)
		return
	}
	copyHeader(w.Header(), resp.Header)
	if resp.ContentLength >= 0 {
		w.Header()["Content-Length"] = []string{strconv.FormatInt(resp.ContentLength, 10)}
	}
	w.WriteHeader(resp.StatusCode)
	if events && c.events(resp.Body) || !events && c.body(resp.Body) {
		return
	}
	panic(http.ErrAbortHandler) // the only way to show that the rest is missing
}

// stream copies a stream outside any call, which may be open for days. It takes the
// connection of the client over, because net/http holds much memory for it.
func (c *copying) stream(resp *http.Response, h *handing) {
	copyHeader(c.w.Header(), resp.Header)
	conn, err := mcphttp.TakeOver(c.w, c.a.Request, resp.StatusCode)
	if err != nil { // the client has disconnected
		resp.Body.Close()
		return
	}
	c.buf = make([]byte, heldStream)
	if conn == nil {
		defer resp.Body.Close()
		if !c.events(resp.Body) {
			panic(http.ErrAbortHandler)
		}
		return
	}
	h.kept = true
	h.detach()
	resp.Request, resp.Header = nil, nil           // the body refers to the response
	far := &copying{n: c.n, out: conn, buf: c.buf} // without the request, which would stay in memory
	go far.carry(conn, resp.Body, h.cancel, h.end)
}

// carry copies a stream to the connection of its client, until one of them ends.
func (c *copying) carry(conn *mcphttp.StreamConn, from io.ReadCloser, cancel, end func()) {
	defer end()
	defer from.Close()
	conn.Watch(func(error) { cancel() })
	conn.Close(!c.events(from))
}

// copyHeader copies the header fields of the response, except those of the
// connection.
func copyHeader(to, from http.Header) {
	for name, values := range from {
		switch name {
		case "Connection", "Transfer-Encoding", "Content-Length", "Date", "Keep-Alive":
		default:
			if !strings.HasPrefix(name, "Aio-") {
				to[name] = values
			}
		}
	}
}

// A copying is one response on its way through this replica.
type copying struct {
	n    *Node
	w    http.ResponseWriter
	out  output
	a    *mcphttp.Away // nil for a stream outside any call
	from Owner
	buf  []byte
}

// An output is the destination of a response: an HTTP response, or its connection.
type output interface {
	Write(p []byte) (int, error)
	Flush() error
	SetWriteDeadline(t time.Time) error
}

type response struct {
	http.ResponseWriter
	*http.ResponseController
}

// write writes a part of the response with its own deadline.
func (c *copying) write(b []byte) bool {
	c.out.SetWriteDeadline(time.Now().Add(c.n.opt.WriteIdle))
	_, err := c.out.Write(b)
	return err == nil
}

// whole copies a small response after all of it has arrived.
func (c *copying) whole(resp *http.Response) {
	b := c.buf[:resp.ContentLength]
	if _, err := io.ReadFull(resp.Body, b); err != nil {
		c.n.fail(c.w, c.a, c.n.Counted.lost(c.from))
		return
	}
	copyHeader(c.w.Header(), resp.Header)
	c.w.WriteHeader(resp.StatusCode)
	if len(b) > 0 {
		c.write(b)
	}
}

// body copies a large response; it reports false if a part is lost, which the client
// notices by the length.
func (c *copying) body(from io.Reader) bool {
	for {
		// TLS returns small pieces. Join them, so that each is not a separate write.
		n, err := 0, error(nil)
		for n < len(c.buf) && err == nil {
			var more int
			more, err = from.Read(c.buf[n:])
			n += more
		}
		if n > 0 && !c.write(c.buf[:n]) {
			return true // the client has disconnected
		}
		if err != nil {
			return err == io.EOF
		}
	}
}

// events copies an event stream, each event when it is complete: after a part of an
// event, no error could be sent. It reports false if it was left in the middle of an
// event.
func (c *copying) events(from io.Reader) bool {
	if c.out.Flush() != nil {
		return true // the client has disconnected
	}
	kept := 0       // bytes of buf that belong to an incomplete event
	inside := false // a part of an event that is too large for buf was written
	for {
		n, err := from.Read(c.buf[kept:])
		have := c.buf[:kept+n]
		whole := complete(have, kept)
		if whole > 0 {
			inside = false
		}
		if whole == 0 && len(have) == len(c.buf) || err == io.EOF {
			inside, whole = true, len(have)
		}
		if whole > 0 && (!c.write(have[:whole]) || c.out.Flush() != nil) {
			return true
		}
		if kept = len(have); whole > 0 {
			kept = copy(c.buf, have[whole:])
		}
		switch {
		case err == io.EOF:
			return true
		case err != nil && inside:
			return false
		case err != nil:
			c.last()
			return true
		}
	}
}

// complete returns the length of the whole events at the beginning of b. The first
// seen bytes are known to end none. It looks at each byte once, from the front,
// which is fast for the large ones.
func complete(b []byte, seen int) (end int) {
	for at := max(0, seen-1); ; at = end {
		i := bytes.Index(b[at:], []byte("\n\n"))
		if i < 0 {
			return end
		}
		end = at + i + 2
	}
}

// last ends a stream whose replica died: a call gets an error response.
func (c *copying) last() {
	if c.a == nil || c.a.Request.Method != http.MethodPost || c.a.Quiet || c.a.Request.Context().Err() != nil {
		return
	}
	msg := jsonrpc.AppendResponse(nil, c.a.ID, &jsonrpc.Response{Err: c.n.Counted.lost(c.from)})
	if c.write(sse.AppendEvent(nil, "", 0, sse.OneLine(msg))) {
		c.out.Flush()
	}
}
