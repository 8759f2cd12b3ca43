package httpclient

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp/sse"
)

// OpenStream opens the stream for the server's messages outside any call, and
// reopens it when it breaks, until ctx ends or the client is closed. It does not
// wait, because a server may delay the header until its first message. If the
// server has no such stream, OpenStream gives up; a modern server never has one.
func (c *Client) OpenStream(ctx context.Context) {
	if !c.opt.Modern && !c.streaming.Swap(true) {
		c.flights.spawn(ctx, c.listen)
	}
}

// AwaitStream waits until the server has opened or refused the stream, but at most
// for limit. A request that the server sends on the stream before it is open would
// be lost.
func (c *Client) AwaitStream(ctx context.Context, limit time.Duration) {
	select {
	case <-c.listening:
	case <-time.After(limit):
	case <-ctx.Done():
	}
}

func (c *Client) listen(ctx context.Context) {
	in := c.newInbox(nil)
	var pos position
	opened, failures := false, 0
	var first sync.Once
	for {
		body, err := c.server.get(ctx, pos.id)
		first.Do(func() { close(c.listening) })
		if err == nil {
			opened = true
			since := time.Now()
			c.readListen(ctx, c.watch(ctx, body), in, &pos)
			if time.Since(since) > retryFloor || pos.retry > 0 {
				failures = 0
			}
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !worthAnotherTry(err) {
			if opened { // it had a stream, so our session is lost
				c.down(err)
			}
			return
		}
		if err != nil && failures == 0 {
			c.down(err)
		}
		if pause(ctx, max(pos.delay(failures), retryAfter(err))) != nil {
			return
		}
		failures++
	}
}

// retryAfter returns how long the server asks the client to wait, at most a minute.
func retryAfter(err error) time.Duration {
	var status *StatusError
	if !errors.As(err, &status) {
		return 0
	}
	d, bad := time.ParseDuration(status.Header.Get("Retry-After") + "s")
	if bad != nil {
		return 0
	}
	return min(d, time.Minute)
}

func (c *Client) readListen(ctx context.Context, body io.ReadCloser, in *inbox, pos *position) {
	defer body.Close()
	er := sse.NewEventReader(body, c.opt.MaxMessage)
	for {
		ev, err := er.Next()
		if errors.As(err, new(*jsonrpc.FrameError)) {
			c.opt.Log.Warn("event dropped", "err", err)
			continue
		}
		if err != nil {
			return
		}
		pos.note(&ev)
		if len(ev.Data) == 0 || (ev.Name != "" && ev.Name != "message") {
			continue
		}
		msg, bad := jsonrpc.ScanAnswer(ev.Data, nil)
		if bad != nil {
			c.opt.Log.Warn("event dropped", "err", bad.Message)
			continue
		}
		in.take(ctx, &msg)
	}
}

func (c *Client) down(err error) {
	if c.opt.OnDown != nil {
		c.opt.OnDown(err)
	}
}
