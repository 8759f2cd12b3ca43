package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/web/api"
)

const maxDelay = 10 * time.Minute

// Chaos holds the faults to inject between the Bench and the server under test.
// It applies to one session of the Bench, when that session sends; no other
// client is affected.
type Chaos struct {
	// Delay delays each call, in milliseconds.
	Delay int64 `json:"delay,omitempty"`
	// Error answers each call with an error without asking the server.
	Error bool `json:"error,omitempty"`
	// Cut closes the connection after the call was sent.
	Cut bool `json:"cut,omitempty"`
}

var errCut = i18n.Errorf("the chaos switch has cut the connection", "混沌开关切断了连接")

// String names the fault, for the record of the run.
func (c Chaos) String() string {
	switch {
	case c.Error:
		return "error"
	case c.Cut:
		return "cut"
	case c.Delay > 0:
		return fmt.Sprintf("delay %d ms", c.Delay)
	}
	return ""
}

// send sends a call of the user with the faults in c.
func (x *bench) send(ctx context.Context, c Chaos, method string, params json.RawMessage) (*probe.Exchange, error) {
	began := time.Now()
	if c.Delay > 0 {
		select {
		case <-time.After(time.Duration(c.Delay) * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if c.Error {
		return &probe.Exchange{Err: jsonrpc.Errorf(jsonrpc.CodeInternal, "the chaos switch answered; the server was not asked")}, nil
	}
	if !c.Cut {
		late := time.Since(began)
		ex, err := x.session.Call(ctx, method, params, probe.CallOptions{})
		if ex != nil && ex.Timing.Total > 0 && c.Delay > 0 {
			ex.Timing.Total += late
		}
		return ex, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sent := x.whenSent(method)
	ended := make(chan struct{})
	x.all.wg.Go(func() {
		defer close(ended)
		select {
		case <-sent:
		case <-ctx.Done():
		}
		cancel(errCut)
		x.lost(errCut)
		x.session.Close(ctx) // cut without a proper shutdown
	})
	ex, err := x.session.Call(ctx, method, params, probe.CallOptions{})
	cancel(nil)
	<-ended
	if err == nil || errors.Is(context.Cause(ctx), errCut) {
		err = errCut
	}
	return ex, err
}

// whenSent returns a channel that is closed after the next request with the
// method was sent.
func (x *bench) whenSent(method string) <-chan struct{} {
	sent := make(chan struct{})
	x.mu.Lock()
	defer x.mu.Unlock()
	x.awaited = func(body []byte) bool {
		if got, _ := jsonrpc.GetString(body, "method"); got != method {
			return false
		}
		close(sent)
		return true
	}
	return sent
}

// sent is called for each message that the session sends.
func (x *bench) sent(body []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.awaited != nil && x.awaited(body) {
		x.awaited = nil
	}
}

func (b *Benches) putChaos(r *api.Request) (any, error) {
	var body Chaos
	x, err := b.find(r, &body)
	if err != nil {
		return nil, err
	}
	if body.Delay < 0 || body.Delay > maxDelay.Milliseconds() {
		return nil, api.BadRequest(i18n.New("delay is in milliseconds, from 0 to %d", "delay 的单位是毫秒，范围 0 到 %d", maxDelay.Milliseconds()))
	}
	x.mu.Lock()
	x.chaos = body
	x.mu.Unlock()
	b.tell(x.owner)
	return nil, nil
}
