package probe

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// calls holds the calls in flight.
type calls struct {
	mu    sync.Mutex
	last  uint64
	order []*running
}

// A running is one call in flight. It is nil for a question outside any call.
type running struct {
	id     uint64
	name   string
	opt    CallOptions
	token  string // the progress token
	began  time.Time
	ctx    context.Context // ends with the call
	cancel context.CancelCauseFunc
	idle   *time.Timer
	limit  *time.Timer
	trip   jsonrpc.Trip

	mu       sync.Mutex
	asking   int
	askedAt  time.Time
	asked    time.Duration
	gateway  time.Duration
	server   time.Duration
	measured bool // the gateway reported the times
	notes    int
	stopped  time.Time
}

func (c *calls) begin(ctx context.Context, params []byte, opt CallOptions) (context.Context, *running) {
	r := &running{opt: opt, began: time.Now()}
	r.name, _ = jsonrpc.GetString(params, "name")
	c.mu.Lock()
	defer c.mu.Unlock() // questions must not find the call before it is complete
	c.last++
	r.id = c.last
	if own := jsonrpc.Get(params, "_meta", "progressToken"); own != nil {
		r.token = bareToken(own)
	} else if opt.OnProgress != nil || opt.Idle > 0 {
		r.token = strconv.FormatUint(r.id, 10)
	}
	ctx, r.cancel = context.WithCancelCause(context.WithValue(ctx, callKey{}, r))
	r.ctx = ctx
	if opt.Idle > 0 {
		r.idle = time.AfterFunc(opt.Idle, func() {
			err := ErrIdle
			if opt.Silence != nil {
				err = opt.Silence()
			}
			r.cancel(i18n.Errorf("%w within %v", "%w（时限 %v）", err, opt.Idle))
		})
	}
	if opt.Limit > 0 {
		r.limit = time.AfterFunc(opt.Limit, func() { r.cancel(i18n.Errorf("%w within %v", "%w（时限 %v）", ErrLimit, opt.Limit)) })
	}
	c.order = append(c.order, r)
	return ctx, r
}

func (c *calls) end(r *running) {
	r.stop()
	r.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.order {
		if other == r {
			c.order = append(c.order[:i:i], c.order[i+1:]...)
			return
		}
	}
}

func (c *calls) newest() *running {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.order) == 0 {
		return nil
	}
	return c.order[len(c.order)-1]
}

func (c *calls) byToken(raw []byte) *running {
	token := bareToken(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.order {
		if r.token != "" && r.token == token {
			return r
		}
	}
	return nil
}

// bareToken reads a token; some servers return it as another type.
func bareToken(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func (r *running) number() uint64 {
	if r == nil {
		return 0
	}
	return r.id
}

// withToken adds the progress token to params if progress is wanted.
func (r *running) withToken(params json.RawMessage) json.RawMessage {
	if r.token == "" || len(params) == 0 || jsonrpc.Get(params, "_meta", "progressToken") != nil {
		return params
	}
	return jsonrpc.Set(params, []byte(r.token), "_meta", "progressToken")
}

// touch records that a message about the call arrived.
func (r *running) touch() {
	if r == nil || r.idle == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking == 0 && r.stopped.IsZero() {
		r.idle.Reset(r.opt.Idle)
	}
}

func (r *running) progressed(params []byte) {
	r.touch()
	var p Progress
	if json.Unmarshal(params, &p) != nil {
		return
	}
	r.mu.Lock()
	r.notes++
	r.mu.Unlock()
	if r.opt.OnProgress != nil {
		r.opt.OnProgress(p)
	}
}

// ask stops the idle timer while a question is open; done restarts it.
func (r *running) ask() (done func()) {
	if r == nil {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking++; r.asking == 1 {
		r.askedAt = time.Now()
		if r.idle != nil {
			r.idle.Stop()
		}
	}
	return func() {
		r.mu.Lock()
		if r.asking--; r.asking == 0 {
			r.asked += time.Since(r.askedAt)
		}
		r.mu.Unlock()
		r.touch()
	}
}

// during returns a context for work on behalf of the call: it has the values of
// the call's context and ends with the call or with ctx.
func (r *running) during(ctx context.Context) (_ context.Context, stop func()) {
	if r == nil {
		return ctx, func() {}
	}
	own, cancel := context.WithCancelCause(r.ctx)
	off := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return own, func() {
		off()
		cancel(nil)
	}
}

func (r *running) cancelWith(err error) {
	if r != nil {
		r.cancel(err)
	}
}

// stop stops the timers.
func (r *running) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped.IsZero() {
		return
	}
	r.stopped = time.Now()
	for _, t := range []*time.Timer{r.idle, r.limit} {
		if t != nil {
			t.Stop()
		}
	}
}

func (r *running) notices() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.notes
}

// measure stores the times that a gateway in this process reported.
func (r *running) measure(m Measurement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.measured, r.gateway, r.server = true, m.Gateway, m.Server
}
