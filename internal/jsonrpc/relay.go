package jsonrpc

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"time"

	"mcp-all-in-one/internal/late"
	"mcp-all-in-one/internal/loop"
)

// A Relayer is a Handler that can pass a request on without waiting for the
// answer: no goroutine stands still for it.
type Relayer interface {
	// Relay begins to answer a request and does not wait. It reports false,
	// having done nothing, when the request is one for Handle. Otherwise done
	// hears the outcome exactly once. Params are valid until Relay returns.
	Relay(ctx context.Context, t *Turn, from Peer, req *Request, done Completion) bool
}

// A Completion hears the outcome of what was begun.
type Completion interface {
	// Complete must not wait: the goroutine in whose turn it is called reads
	// for others too. Without a turn it has a goroutine to itself.
	//
	// A turn also says that nobody else has the Peer of the request any more:
	// its memory is used again.
	Complete(t *Turn, resp *Response, err error)
}

// A Queue is a Stream that takes messages without waiting. A Stream around one
// has the method Unwrap.
type Queue interface {
	Stream
	// Queue takes a small message that the next Flush or Write sends. It
	// reports false when it would have to wait, or when the message is large.
	// Head and tail are known to be one line.
	Queue(head, payload, tail []byte) bool
	// Flush begins to write what is queued and does not wait.
	Flush()
	// OnWait has f called by Read before it waits. f reports whether something
	// may have come meanwhile.
	OnWait(f func() bool)
	// OnMessage has f called by a loop, where there are loops, with what comes
	// while Read would wait. f does not wait: it reports false to leave a
	// message, and all behind it, to Read.
	OnMessage(f func(t *loop.Turn, msg []byte, release func()) bool)
}

func queueOf(s Stream) Queue {
	for s != nil {
		if q, ok := s.(Queue); ok {
			return q
		}
		u, ok := s.(interface{ Unwrap() Stream })
		if !ok {
			return nil
		}
		s = u.Unwrap()
	}
	return nil
}

// A Turn is what one goroutine does between two waits. What it queues is
// written at the end: one system call instead of many.
type Turn struct {
	// Wait is set when the goroutine reads for nobody else. A Relayer may then
	// call it, wait for the outcome, and tell it in this very turn.
	Wait func()
	// Of is the loop's turn that this one is part of; nil where there is none.
	Of *loop.Turn

	dirty   []Queue
	taken   int // messages
	bytes   int // queued
	flying  int // calls of the connection that was used last
	now     time.Time
	scratch []byte
}

// TurnOf is the one of a loop.
func TurnOf(t *loop.Turn) *Turn {
	turn, ok := t.Work.(*Turn)
	if !ok {
		turn = &Turn{Of: t}
		t.Work = turn
	}
	return turn
}

// Splice returns obj with other bytes in one place. They are valid until the next
// Splice of the turn.
func (t *Turn) Splice(obj []byte, at Span, with []byte) []byte {
	t.scratch = append(append(append(t.scratch[:0], obj[:at.Start]...), with...), obj[at.End:]...)
	spliced := t.scratch
	if cap(t.scratch) > maxTurnBytes {
		t.scratch = nil
	}
	return spliced
}

// Now is the time of the turn. The clock is asked once, not for every message.
func (t *Turn) Now() time.Time {
	if t.now.IsZero() {
		t.now = time.Now()
	}
	return t.now
}

// A turn ends, so that those who get what is queued can begin, with half of the
// calls that are in flight, within bounds: then both sides work. All messages
// count: behind one that is passed on any number may come that are not.
// maxTurnBytes is how much is queued: a pipe may take no more at once.
const (
	minTurn      = 8
	maxTurn      = 32
	maxTurnBytes = 48 << 10
)

// queue queues a message that is written with the turn.
func (t *Turn) queue(q Queue, o *outgoing, payload []byte) bool {
	if !q.Queue(o.head, payload, o.tail) {
		return false
	}
	t.bytes += len(o.head) + len(payload) + len(o.tail)
	if !slices.Contains(t.dirty, q) {
		t.dirty = append(t.dirty, q)
	}
	return true
}

// took counts a message.
func (t *Turn) took() {
	if t.taken++; t.taken >= min(max(t.flying/2, minTurn), maxTurn) || t.bytes >= maxTurnBytes {
		t.End()
	}
}

// End writes what was queued. It reports whether that took long enough for more
// to have come: something was written, and other calls are on their way.
func (t *Turn) End() bool {
	if t.Wait != nil && t.flying > 2 && len(t.dirty) > 0 {
		runtime.Gosched() // others are about to queue something, too
	}
	more := len(t.dirty) > 0 && t.flying > 1
	for i, q := range t.dirty {
		q.Flush()
		t.dirty[i] = nil
	}
	t.dirty, t.taken, t.bytes, t.flying, t.now = t.dirty[:0], 0, 0, 0, time.Time{}
	return more
}

// relays says whether requests may be passed on.
func (c *Conn) relays(b *batch) bool {
	return c.relayer != nil && c.queue != nil && b == nil
}

// relay passes a request on, where the handler can.
func (c *Conn) relay(t *Turn, in *inbound) (begun bool) {
	if !c.relays(in.batch) {
		return false
	}
	// Whoever answers too early must not find a buffer that is still read: it
	// stays the reader's, and only the id is needed later.
	message := in.release
	in.release = nil
	defer func() {
		if !begun {
			in.release = message
		}
	}()
	defer func() {
		if v := recover(); v != nil {
			c.panicked(in.req.Method, v)
			in.Complete(nil, nil, Errorf(CodeInternal, "internal error"))
			begun = true
		}
	}()
	return c.relayer.Relay(&in.ctx, t, in, &in.req, in)
}

// Complete implements Completion for a request that was passed on.
func (in *inbound) Complete(t *Turn, resp *Response, err error) {
	if in.completed.Swap(true) {
		resp.Release()
		return
	}
	c := in.conn
	if t == nil {
		in.finish(resp, err)
		in.leave()
		return
	}
	wanted := in.settle()
	next, known := c.requests.part(in)
	if next != nil {
		c.start(next)
	}
	if wanted {
		out := outcomeOf(resp, err)
		if !c.queueAnswer(t, in.id, out) {
			// It is large, or the peer does not read: t must not wait for that.
			c.requests.stay()
			go func() {
				c.answer(in.id, out, nil)
				resp.Release()
				in.leave()
			}()
			return
		}
	}
	resp.Release()
	if !known {
		c.requests.put(in)
	}
	c.running.Done()
}

// leave makes room for the next request after one that had no worker.
func (in *inbound) leave() {
	c := in.conn
	if next, _ := c.requests.leave(in, nil); next != nil {
		c.start(next)
	}
	c.running.Done()
}

func (c *Conn) queueAnswer(t *Turn, id []byte, resp *Response) bool {
	o := newOutgoing()
	defer o.free()
	return t.queue(c.queue, o, o.answer(id, resp))
}

// Begin is Call for whoever does not wait: done hears the outcome. It reports
// false, and nothing was sent, when the request cannot be queued at once or ctx
// is not that of a request of a peer.
func (c *Conn) Begin(ctx context.Context, t *Turn, req *Request, done Completion) bool {
	r, ok := ctx.(*late.Context)
	if !ok || c.queue == nil || req.Method == c.opt.Uncancellable {
		return false
	}
	_, id, err := c.calls.add(done, r)
	if err != nil {
		return false
	}
	if b, ok := req.Back.(Abortable); ok {
		b.Began(id)
	}
	t.flying = c.Pending()
	if r.Await(c, id) && c.queueCall(t, id, req) {
		c.requests.wake()
		return true
	}
	r.Answered()
	k := c.calls.take(id)
	if k == nil {
		return true // it has ended meanwhile, and done hears how
	}
	c.calls.put(k)
	return false
}

func (c *Conn) queueCall(t *Turn, id uint64, req *Request) bool {
	o := newOutgoing()
	defer o.free()
	o.head = append(o.head, idFirst...)
	o.head = strconv.AppendUint(o.head, id, 10)
	o.head = append(o.head, ',')
	o.call(req.Method, req.Params)
	return t.queue(c.queue, o, req.Params)
}

// settleCall gives a call its outcome.
func (c *Conn) settleCall(t *Turn, k *call, out outcome) {
	if k.done == nil {
		k.outcome <- out
		return
	}
	done, ctx, id := k.done, k.ctx, k.id
	c.calls.put(k)
	c.complete(t, id, done, ctx, out)
}

// complete tells the outcome of a call that nobody waits for.
func (c *Conn) complete(t *Turn, id uint64, done Completion, ctx *late.Context, out outcome) {
	ctx.Answered()
	if out.aborted != nil {
		c.sendCancel(id, out.aborted)
	}
	if t == nil { // whoever ended it may hold locks
		go done.Complete(nil, out.resp, out.err)
		return
	}
	done.Complete(t, out.resp, out.err)
}
