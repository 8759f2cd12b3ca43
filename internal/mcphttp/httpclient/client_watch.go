package httpclient

import (
	"context"
	"errors"
	"io"
	"math"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

const (
	idleStream = 90 * time.Second
	// probeTime is longer than the time after which the kernel gives up on a peer
	// that does not acknowledge data.
	probeTime = 40 * time.Second
)

// A watchedBody is an event stream. If it is silent for long, the client probes the
// server, which may have vanished.
type watchedBody struct {
	io.ReadCloser
	timer  *time.Timer
	closed atomic.Bool
}

func (c *Client) watch(ctx context.Context, body io.ReadCloser) *watchedBody {
	w := &watchedBody{ReadCloser: body}
	w.timer = time.AfterFunc(math.MaxInt64, func() {
		if !w.closed.Load() {
			c.flights.spawn(ctx, func(ctx context.Context) { c.probe(ctx, w) })
		}
	})
	w.timer.Reset(idleStream)
	return w
}

func (w *watchedBody) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.timer.Reset(idleStream)
	}
	return n, err
}

func (w *watchedBody) Close() error {
	w.closed.Store(true)
	w.timer.Stop()
	return w.ReadCloser.Close()
}

// probe checks whether the server is alive. Any response means yes, and so does a
// timeout while its kernel acknowledges. A connection that fails or breaks means
// no.
func (c *Client) probe(ctx context.Context, w *watchedBody) {
	defer func() {
		if !w.closed.Load() {
			w.timer.Reset(idleStream)
		}
	}()
	if !c.probing.CompareAndSwap(false, true) {
		return
	}
	defer c.probing.Store(false)
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	_, err := c.Call(ctx, c.signOfLife())
	var status *StatusError
	if err == nil || ctx.Err() != nil || errors.As(err, &status) || errors.Is(err, jsonrpc.ErrBadAnswer) {
		return
	}
	w.Close()
	c.down(err)
}

func (c *Client) signOfLife() *jsonrpc.Request {
	if !c.opt.Modern {
		return &jsonrpc.Request{Method: mcp.MethodPing}
	}
	meta := `{"_meta":{"` + mcp.MetaVersion + `":"` + c.server.state.Load().version + `","` + mcp.MetaCapabilities + `":{}}}`
	return &jsonrpc.Request{Method: mcp.MethodDiscover, Params: []byte(meta)}
}
