package entry

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/traffic"
)

// traceKey is the context key of the trace of a request.
type traceKey struct{}

// maxID bounds the ids of forwarded requests that are recorded: a client may choose
// any text.
const maxID = 128

// A Trace holds the record of one call while it runs. The methods of a nil
// Trace do nothing.
type Trace struct {
	ID uint64 // in the record
	// Back is the way back to the client, for a request of a legacy session.
	Back jsonrpc.Handler

	start  time.Time
	call   traffic.Call
	params []byte // nil once the record has ended
	// answers is set if the request repeats one to answer its questions.
	answers bool
	span    traffic.Span
	came    traffic.Forward
	target  atomic.Value // the last Target of the call
	cached  atomic.Bool  // the result came from the cache
	yes     atomic.Pointer[traffic.Yes]
	first   atomic.Pointer[Trace] // the request that began the call
	// verdict on the server's response.
	verdict Verdict
}

// A Target is where a call leads. All targets have the same type.
type Target interface {
	// Describe returns o with the server and the item of the call.
	Describe(o traffic.Outcome) traffic.Outcome
}

// LeadsTo notes the target of a call.
func (t *Trace) LeadsTo(to Target) {
	if t != nil {
		t.target.Store(to)
	}
}

// Recalled notes that the result of a call came from the cache.
func (t *Trace) Recalled() {
	if t != nil {
		t.cached.Store(true)
	}
}

// Agreed notes who approved a call.
func (t *Trace) Agreed(yes traffic.Yes) {
	if t != nil {
		t.yes.Store(&yes)
	}
}

// Resumes notes that a call continues the call of an earlier request.
func (t *Trace) Resumes(first *Trace) {
	if t != nil {
		t.first.Store(first)
	}
}

// Traced returns the trace of a request; nil if calls are not recorded.
func Traced(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// A Journal records the messages between a client and its servers.
type Journal struct {
	Client interface {
		// Keeper returns where the client's calls are recorded.
		Keeper() *Keeper
		// Sign fills in the client of a call, and the door that it uses.
		Sign(c *traffic.Call)
		// Traceparent returns the trace context that came with a request.
		Traceparent(params []byte) string
	}
}

// Begin begins the record of a call of a client, or of a call that it caused.
// The trace is nil if calls are not recorded.
func (j *Journal) Begin(ctx context.Context, via traffic.Door, req *jsonrpc.Request, server, name string) (context.Context, *Trace) {
	k := j.Client.Keeper()
	if !k.Watched() {
		return ctx, nil
	}
	t := &Trace{start: time.Now(), params: req.Params, answers: k.Detailed() && answers(req.Params)}
	t.call = traffic.Call{Hop: traffic.HopClient, Server: Clip(server), Start: t.start}
	above := Traced(ctx)
	if above != nil {
		t.call.Parent = above.ID
	}
	j.summarize(&t.call, req, name)
	t.call.Door = via
	t.ID = k.Traffic.Begin(&t.call, req.Params)
	switch {
	case k.Observe == nil:
	case above != nil:
		t.span, t.came = above.span.Child(), above.came
	default:
		t.span = traffic.NewSpan(j.Client.Traceparent(req.Params))
		if from := traffic.From(ctx); from != "" {
			t.came.From = from
			if len(req.ID) <= maxID {
				t.came.Request = string(req.ID)
			}
		}
	}
	return context.WithValue(ctx, traceKey{}, t), t
}

// End ends the record of a call.
func (j *Journal) End(ctx context.Context, t *Trace, resp *jsonrpc.Response, err error) {
	if t == nil {
		return
	}
	o, body := t.verdict.OfRequest(ctx, resp, err)
	o.Total, o.Yes, o.Forward = time.Since(t.start), t.yes.Load(), t.came
	if first := t.first.Load(); first != nil {
		o.Yes = first.yes.Load()
	}
	if t.cached.Load() {
		o.Notes = []string{traffic.Recalled}
	}
	if to, ok := t.target.Load().(Target); ok {
		o = to.Describe(o)
		o.Item = Clip(o.Item)
	}
	j.Client.Keeper().End(t.ID, &t.span, &t.call, &o, t.params, body)
	t.params = nil // a call that waits for its client keeps its trace
}

// summarize fills in the entry of a call in the record.
func (j *Journal) summarize(c *traffic.Call, req *jsonrpc.Request, name string) {
	j.Client.Sign(c)
	c.Kind, c.Method, c.Name, c.ReqSize = traffic.KindCall, req.Method, Clip(name), int64(len(req.Params))
}

// maxName is how much of a name is recorded. A client sends names of any size.
const maxName = 1 << 10

// Clip shortens a name.
func Clip(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName], "") + "…" // a copy: it does not keep the request in memory
}

// Asked records a request of a server to the client.
func (j *Journal) Asked(parent uint64, start time.Time, req *jsonrpc.Request, resp *jsonrpc.Response, err error) {
	rec := j.Client.Keeper().Traffic
	if !rec.Enabled() {
		return
	}
	o, body := Outcome(context.Background(), resp, err)
	c := traffic.Call{Hop: traffic.HopClient, FromServer: true, Start: start, Status: o.Status, Code: o.Code, Total: time.Since(start), Parent: parent}
	j.summarize(&c, req, "")
	rec.Add(&c, req.Params, body)
}

// Told records a notification of a server, while a watcher is attached.
func (j *Journal) Told(parent uint64, n *jsonrpc.Notification) {
	rec := j.Client.Keeper().Traffic
	if !rec.Attached() {
		return
	}
	c := traffic.Call{Hop: traffic.HopClient, FromServer: true, Start: time.Now(), Parent: parent}
	j.summarize(&c, &jsonrpc.Request{Method: n.Method, Params: n.Params}, "")
	c.Kind = traffic.KindNotification
	rec.Add(&c, n.Params, nil)
}

// A Hop holds the record of the call to a server that a request leads to.
type Hop struct {
	keeper *Keeper
	trace  *Trace
	id     uint64
	began  time.Duration // since the start of the trace
	call   traffic.Call
	params []byte
	span   traffic.Span
	trip   jsonrpc.Trip
}

// Hop begins the record of a call to a server, and measures its Trip. It
// returns nil if such calls are not recorded.
func (j *Journal) Hop(ctx context.Context, server string, req *jsonrpc.Request) *Hop {
	t, k := Traced(ctx), j.Client.Keeper()
	if t == nil || !k.Detailed() {
		return nil
	}
	h := &Hop{keeper: k, trace: t, began: time.Since(t.start), params: req.Params} // Since reads one clock, Now reads two
	h.call = traffic.Call{Hop: traffic.HopServer, Server: server, Start: t.start.Add(h.began), Parent: t.ID}
	j.summarize(&h.call, req, Subject(req.Params))
	h.call.Door, h.call.Answers = t.call.Door, t.answers
	if t.span.ID != [8]byte{} {
		h.span = t.span.Child()
	}
	h.id = k.Traffic.Begin(&h.call, req.Params)
	req.Trip = &h.trip
	return h
}

// answers reports whether a request repeats one to answer its questions.
func answers(params []byte) bool {
	for _, member := range []string{"requestState", "inputResponses"} {
		if bytes.Contains(params, []byte(member)) && jsonrpc.Get(params, member) != nil { // Contains is fast
			return true
		}
	}
	return false
}

// End ends the record of a call to a server. If the sandbox of the server seems
// to be why the call failed, End returns a note about it, once for each server.
func (h *Hop) End(ctx context.Context, resp *jsonrpc.Response, err error, notes []string, confined bool) (denied string) {
	o, body := h.trace.verdict.Outcome(ctx, resp, err)
	o.Total, o.Notes = time.Since(h.trace.start)-h.began, notes
	Split(&o, h.call.Start, &h.trip)
	if confined && h.keeper.Denied(h.call.Server, &o, body) {
		denied = o.Notes[len(o.Notes)-1]
	}
	h.keeper.End(h.id, &h.span, &h.call, &o, h.params, body)
	return denied
}
