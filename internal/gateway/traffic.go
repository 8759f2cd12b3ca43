package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/gateway/entry"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/traffic"
)

// traceKey leads from the context of a request to its trace.
type traceKey struct{}

// A trace is one call on its way down.
type trace struct {
	id     uint64 // in the record
	start  time.Time
	call   traffic.Call
	params []byte
	span   traffic.Span
	target atomic.Pointer[target] // the last one that it led to
	back   back                   // for a request of a legacy session
	cached atomic.Bool            // its answer was known
	yes    atomic.Pointer[traffic.Yes]
	first  atomic.Pointer[trace] // of the request that began the call
	// verdict is that on the answer of the server.
	verdict entry.Verdict
}

// leadsTo notes what a call leads to.
func (t *trace) leadsTo(to *target) {
	if t != nil {
		t.target.Store(to)
	}
}

// recalled notes that a call was answered from the cache.
func (t *trace) recalled() {
	if t != nil {
		t.cached.Store(true)
	}
}

// agreed notes who said yes to a call.
func (t *trace) agreed(yes traffic.Yes) {
	if t != nil {
		t.yes.Store(&yes)
	}
}

// resumes notes that a call is the one that another request began.
func (t *trace) resumes(first *trace) {
	if t != nil {
		t.first.Store(first)
	}
}

// traced is the trace of a request; nil when nobody watches.
func traced(ctx context.Context) *trace {
	t, _ := ctx.Value(traceKey{}).(*trace)
	return t
}

// A journal keeps the record of what a client and its servers say to each other.
type journal struct{ *identity }

// begin begins the record of a call: of a client, or of what it caused. The
// trace is nil where nobody watches.
func (j *journal) begin(ctx context.Context, via traffic.Door, req *jsonrpc.Request, server, name string) (context.Context, *trace) {
	if !j.gw.record.Watched() {
		return ctx, nil
	}
	t := &trace{start: time.Now(), params: req.Params}
	t.call = traffic.Call{Hop: traffic.HopClient, Server: server, Start: t.start}
	above := traced(ctx)
	if above != nil {
		t.call.Parent = above.id
	}
	j.summarize(&t.call, via, req, name)
	t.id = j.gw.record.Traffic.Begin(&t.call, req.Params)
	switch {
	case j.gw.record.Observe == nil:
	case above != nil:
		t.span = above.span.Child()
	default:
		t.span = traffic.NewSpan(j.opening.traceparent(req.Params))
	}
	return context.WithValue(ctx, traceKey{}, t), t
}

// end ends the record of a call.
func (j *journal) end(ctx context.Context, t *trace, resp *jsonrpc.Response, err error) {
	if t == nil {
		return
	}
	o, body := t.verdict.Again(ctx, resp, err)
	o.Total, o.Yes = time.Since(t.start), t.yes.Load()
	if first := t.first.Load(); first != nil {
		o.Yes = first.yes.Load()
	}
	if t.cached.Load() {
		o.Notes = []string{traffic.Recalled}
	}
	if to := t.target.Load(); to != nil && to.upstream != nil {
		o.Server, o.Item = to.upstream.Name(), to.name
		if to.stored != nil {
			o.Script = to.stored.Code
		}
		if to.instead != nil {
			o.Notes = []string{traffic.Rehearsed}
		}
	} else if to != nil && to.own != nil && to.own.Name != builtin.ExecName { // whose own call has an end of its own
		o.Item = to.own.Name
	}
	j.gw.record.End(t.id, &t.span, &t.call, &o, t.params, body)
}

// summarize begins the entry of a call in the record.
func (j *journal) summarize(c *traffic.Call, via traffic.Door, req *jsonrpc.Request, name string) {
	c.Kind, c.Session, c.Client = traffic.KindCall, j.caller.Session, j.clientName()
	c.Principal, c.Door, c.Schema = j.opening.Who.ID, via, j.opening.Schema
	c.Method, c.Name, c.ReqSize = req.Method, name, int64(len(req.Params))
}

// traceparent is what the client says about the trace that a request belongs
// to.
func (o *Opening) traceparent(params []byte) string {
	if text, ok := jsonrpc.GetString(params, "_meta", "traceparent"); ok {
		return text
	}
	return o.Header.Get("Traceparent")
}

// asked keeps a record of a question that a server put to the client.
func (j *journal) asked(parent uint64, start time.Time, req *jsonrpc.Request, resp *jsonrpc.Response, err error) {
	rec := j.gw.record.Traffic
	if !rec.Enabled() {
		return
	}
	o, body := entry.Outcome(context.Background(), resp, err)
	c := traffic.Call{Hop: traffic.HopClient, FromServer: true, Start: start, Status: o.Status, Code: o.Code, Total: time.Since(start), Parent: parent}
	j.summarize(&c, j.opening.Via, req, "")
	rec.Add(&c, req.Params, body)
}

// told keeps a record of a notification that a server sent, while somebody
// looks.
func (j *journal) told(parent uint64, n *jsonrpc.Notification) {
	rec := j.gw.record.Traffic
	if !rec.Attached() {
		return
	}
	c := traffic.Call{Hop: traffic.HopClient, FromServer: true, Start: time.Now(), Parent: parent}
	j.summarize(&c, j.opening.Via, &jsonrpc.Request{Method: n.Method, Params: n.Params}, "")
	c.Kind = traffic.KindNotification
	rec.Add(&c, n.Params, nil)
}
