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

// heldStream is the same for a stream outside any call.
const heldStream = 2 << 10

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
	case a.Request.Method != http.MethodPost:
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
func (n *Node) copy(w http.ResponseWriter, a *mcphttp.Away, resp *http.Response, from Owner) {
	c := &copying{n: n, w: w, a: a, from: from, rc: http.NewResponseController(w)}
	events := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	if events && a.Request.Method == http.MethodGet { // it may be open for days, and ends without an error
		c.buf = make([]byte, heldStream)
	} else {
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		c.buf = *buf
	}
	if !events && resp.ContentLength >= 0 && resp.ContentLength <= held {
		c.whole(resp)
		return
	}
	copyHeader(w.Header(), resp.Header)
	if resp.ContentLength >= 0 {
		w.Header()["Content-Length"] = []string{strconv.FormatInt(resp.ContentLength, 10)}
	}
	w.WriteHeader(resp.StatusCode)
	if events {
		c.events(resp.Body)
		return
	}
	c.body(resp.Body)
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
	a    *mcphttp.Away
	from Owner
	rc   *http.ResponseController
	buf  []byte
}

// write writes a part of the response with its own deadline.
func (c *copying) write(b []byte) bool {
	c.rc.SetWriteDeadline(time.Now().Add(c.n.opt.WriteIdle))
	_, err := c.w.Write(b)
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

// body copies a large response. If a part is lost, the client notices by the
// length.
func (c *copying) body(from io.Reader) {
	for {
		// TLS returns small pieces. Join them, so that each is not a separate write.
		n, err := 0, error(nil)
		for n < len(c.buf) && err == nil {
			var more int
			more, err = from.Read(c.buf[n:])
			n += more
		}
		if n > 0 && !c.write(c.buf[:n]) {
			return
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the only way to show that the rest is missing
		}
	}
}

// events copies an event stream, each event when it is complete: after a part of an
// event, no error could be sent.
func (c *copying) events(from io.Reader) {
	if c.rc.Flush() != nil {
		return
	}
	kept := 0       // bytes of buf that belong to an incomplete event
	inside := false // a part of an event that is too large for buf was written
	for {
		n, err := from.Read(c.buf[kept:])
		have := c.buf[:kept+n]
		whole := bytes.LastIndex(have, []byte("\n\n")) + 2
		if whole < 2 {
			whole = 0
		}
		if whole > 0 {
			inside = false
		}
		if whole == 0 && len(have) == len(c.buf) || err == io.EOF {
			inside, whole = true, len(have)
		}
		if whole > 0 && (!c.write(have[:whole]) || c.rc.Flush() != nil) {
			return
		}
		kept = copy(c.buf, have[whole:])
		switch {
		case err == io.EOF:
			return
		case err != nil && inside:
			panic(http.ErrAbortHandler)
		case err != nil:
			c.last()
			return
		}
	}
}

// last ends a stream whose replica died: a call gets an error response.
func (c *copying) last() {
	if c.a.Request.Method != http.MethodPost || c.a.Quiet || c.a.Request.Context().Err() != nil {
		return
	}
	msg := jsonrpc.AppendResponse(nil, c.a.ID, &jsonrpc.Response{Err: c.n.Counted.lost(c.from)})
	if c.write(sse.AppendEvent(nil, "", 0, sse.OneLine(msg))) {
		c.rc.Flush()
	}
}
