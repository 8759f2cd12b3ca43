package duplex

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// calls holds the pending calls. Ids count upwards; the low bits of an id are
// its slot, the rest is the generation of that slot.
type calls struct {
	mu      sync.Mutex
	slots   []*call // a power of two, at most half of it in use
	last    uint64
	err     error // why no further call is possible
	pending atomic.Int64
	// lost counts the calls that were given up and may still be answered.
	lost  int
	spent sync.Pool // calls whose outcome was received or will never be sent
}

// A call waits for one outcome.
type call struct {
	id      uint64
	outcome chan outcome
	trip    *jsonrpc.Trip   // of the request; nil if the call is not measured
	back    jsonrpc.Handler // of the request; nil without tags
}

type outcome struct {
	resp *jsonrpc.Response
	err  error
	// aborted is why the caller stopped waiting while the peer still works.
	aborted error
	arrived time.Time // when the answer was read; set for a call with a Trip
}

// add allocates a slot for a new call.
func (t *calls) add(trip *jsonrpc.Trip, back jsonrpc.Handler) (*call, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return nil, t.err
	}
	if n := int(t.pending.Load()); 2*n >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for t.last++; t.slots[t.last&mask] != nil; t.last++ {
	}
	k, ok := t.spent.Get().(*call)
	if !ok {
		k = &call{outcome: make(chan outcome, 1)}
	}
	k.id, k.trip, k.back = t.last, trip, back
	t.slots[k.id&mask] = k
	t.pending.Add(1)
	return k, nil
}

func (t *calls) grow() {
	slots := make([]*call, max(16, 2*len(t.slots)))
	for _, k := range t.slots {
		if k != nil {
			slots[k.id&uint64(len(slots)-1)] = k
		}
	}
	t.slots = slots
}

// backOf returns the Back of a pending call; false if there is no such call.
func (t *calls) backOf(id uint64) (jsonrpc.Handler, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.slots) == 0 {
		return nil, false
	}
	k := t.slots[id&uint64(len(t.slots)-1)]
	if k == nil || k.id != id {
		return nil, false
	}
	return k.back, true
}

// take frees the slot of id and returns its call, nil if there is none. Only
// the goroutine that took a call may send its outcome.
func (t *calls) take(id uint64) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.takeLocked(id)
}

func (t *calls) takeLocked(id uint64) *call {
	if len(t.slots) == 0 {
		return nil
	}
	slot := &t.slots[id&uint64(len(t.slots)-1)]
	k := *slot
	if k == nil || k.id != id {
		return nil
	}
	*slot = nil
	t.pending.Add(-1)
	return k
}

// giveUp removes a call from the table; it returns nil if the outcome is
// already being sent.
func (t *calls) giveUp(id uint64) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.takeLocked(id)
	if k != nil {
		t.lost++
	}
	return k
}

// only takes the single pending call. It returns nil if the answer could belong
// to another call.
func (t *calls) only() *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost > 0 || t.pending.Load() != 1 {
		return nil
	}
	for _, k := range t.slots {
		if k != nil {
			return t.takeLocked(k.id)
		}
	}
	return nil
}

// found records the answer to a lost or unknown call. It reports whether id was
// ever allocated.
func (t *calls) found(id uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost > 0 {
		t.lost--
	}
	return id <= t.last
}

// fail ends all pending and future calls with err.
func (t *calls) fail(err error) {
	t.mu.Lock()
	slots := t.slots
	if t.err == nil {
		t.err = err
	}
	t.slots = nil
	t.pending.Store(0)
	t.mu.Unlock()
	for _, k := range slots {
		if k != nil {
			k.outcome <- outcome{err: err}
		}
	}
}

// broken takes the call that an unreadable message was meant to answer: the
// call with its id or, if an answer has lost its id, the only pending call.
// Servers that write the id last lose it easily. A line that is not an answer,
// such as a log line, affects no call.
func (t *calls) broken(id []byte, answer bool) *call {
	if n, ok := jsonrpc.OwnNumber(id); ok {
		return t.take(n)
	}
	if id == nil && answer {
		return t.only()
	}
	return nil
}

// asking reports whether any call is pending.
func (t *calls) asking() bool { return t.pending.Load() > 0 }

// newest returns the id of the latest call.
func (t *calls) newest() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Call sends a request and waits for its answer. If ctx ends first, Call sends
// CancelMethod to the peer and discards a late answer. Back is used only with
// Tags: without them the stream does not say which call a message belongs to.
func (c *Conn) Call(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return request(ctx, c, req, nil)
}

// request sends a request and waits, like Call. in is the request of the peer
// on whose behalf it is sent; nil for none.
func request(ctx context.Context, c *Conn, req *jsonrpc.Request, in *inbound) (*jsonrpc.Response, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	k, err := c.calls.add(req.Trip, c.opt.Tags.back(req))
	if err != nil {
		return nil, err
	}
	id := k.id
	c.requests.wake()
	if b, ok := req.Back.(Abortable); ok {
		b.Began(id)
	}
	left := req.Trip.Leave()
	if err := c.send(ctx, id, req, in); err != nil {
		if c.calls.take(id) == nil {
			<-k.outcome
		}
		c.calls.spent.Put(k)
		if c.closing.Load() {
			return nil, jsonrpc.ErrClosed
		}
		return nil, i18n.Errorf("sending %s: %w", "发送 %s 失败：%w", req.Method, err)
	}
	if req.Trip != nil {
		req.Trip.Carry(time.Since(left))
	}
	out := c.calls.await(ctx, k)
	if !out.arrived.IsZero() {
		req.Trip.Carry(time.Since(out.arrived))
	}
	k.trip, k.back = nil, nil
	c.calls.spent.Put(k)
	if out.aborted != nil && req.Method != c.opt.Uncancellable {
		c.sendCancel(id, out.aborted)
	}
	return out.resp, out.err
}

// await waits for the outcome of a call or the end of its context.
func (t *calls) await(ctx context.Context, k *call) outcome {
	select {
	case out := <-k.outcome:
		return out
	case <-ctx.Done():
		if t.giveUp(k.id) != nil {
			return outcome{err: ended(ctx), aborted: context.Cause(ctx)}
		}
		return <-k.outcome // its outcome is being sent
	}
}

// An Abortable is a Back whose call Abort can end. Began receives the id as
// soon as it is allocated. A cancellable context per call would cost as much as
// sending the call.
type Abortable interface {
	Began(id uint64)
}

// Abort ends a call with an error and notifies the peer, unless the outcome is
// already known.
func (c *Conn) Abort(id uint64, err error) {
	if k := c.calls.giveUp(id); k != nil {
		k.outcome <- outcome{err: err, aborted: err}
	}
}

func (c *Conn) send(ctx context.Context, id uint64, req *jsonrpc.Request, in *inbound) error {
	o := newOutgoing()
	defer o.free()
	o.head = c.opt.Tags.append(o.head, ctx, in)
	o.head = append(o.head, `{"jsonrpc":"2.0","id":`...)
	o.head = strconv.AppendUint(o.head, id, 10)
	o.head = append(o.head, ',')
	o.call(req.Method, req.Params)
	return c.stream.Write(o.around(req.Params)...)
}

// sendCancel tells the peer that the answer to id is no longer needed. It does
// not block if the peer does not read.
func (c *Conn) sendCancel(id uint64, cause error) {
	if c.opt.CancelMethod == "" {
		return
	}
	why := cause.Error()
	why = strings.ToValidUTF8(why[:min(len(why), 256)], "")
	params := append([]byte(nil), `{"requestId":`...)
	params = strconv.AppendUint(params, id, 10)
	params = append(params, `,"reason":`...)
	params = append(jsonrpc.AppendQuoted(params, why), '}')
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.sending.Go(func() {
		c.Notify(c.ctx, &jsonrpc.Notification{Method: c.opt.CancelMethod, Params: params})
	})
}

// ended returns the error of a context together with its cause.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err {
		return err
	}
	return i18n.Errorf("%w: %w", "%w：%w", err, cause)
}
