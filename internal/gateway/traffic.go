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

// traceKey is the context key of the trace of a request.
type traceKey struct{}

// A trace holds the record of one call while it runs.
type trace struct {
	id     uint64 // in the record
	start  time.Time
	call   traffic.Call
	params []byte
	span   traffic.Span
	target atomic.Pointer[target] // the last target of the call
	back   back                   // for a request of a legacy session
	cached atomic.Bool            // the result came from the cache
	yes    atomic.Pointer[traffic.Yes]
	first  atomic.Pointer[trace] // the request that began the call
	// verdict on the server's response.
	verdict entry.Verdict
}

// leadsTo notes the target of a call.
func (t *trace) leadsTo(to *target) {
	if t != nil {
		t.target.Store(to)
	}
}

// recalled notes that the result of a call came from the cache.
func (t *trace) recalled() {
	if t != nil {
		t.cached.Store(true)
	}
}

// agreed notes who approved a call.
func (t *trace) agreed(yes traffic.Yes) {
	if t != nil {
		t.yes.Store(&yes)
	}
}

// resumes notes that a call continues the call of an earlier request.
func (t *trace) resumes(first *trace) {
	if t != nil {
		t.first.Store(first)
	}
}

// traced returns the trace of a request; nil if calls are not recorded.
func traced(ctx context.Context) *trace {
	t, _ := ctx.Value(traceKey{}).(*trace)
	return t
}

// A journal records the messages between a client and its servers.
type journal struct{ *identity }

// begin begins the record of a call of a client, or of a call that it caused.
// The trace is nil if calls are not recorded.
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
	} else if to != nil && to.own != nil && to.own.Name != builtin.ExecName { // exec is skipped: its inner call has an end of its own
		o.Item = to.own.Name
	}
	j.gw.record.End(t.id, &t.span, &t.call, &o, t.params, body)
}

// summarize fills in the entry of a call in the record.
func (j *journal) summarize(c *traffic.Call, via traffic.Door, req *jsonrpc.Request, name string) {
	c.Kind, c.Session, c.Client = traffic.KindCall, j.caller.Session, j.clientName()
	c.Principal, c.Door, c.Schema = j.opening.Who.ID, via, j.opening.Schema
	c.Method, c.Name, c.ReqSize = req.Method, name, int64(len(req.Params))
}

// traceparent returns the trace context that the client sent with a request.
func (o *Opening) traceparent(params []byte) string {
	if text, ok := jsonrpc.GetString(params, "_meta", "traceparent"); ok {
		return text
	}
	return o.Header.Get("Traceparent")
}

// asked records a request of a server to the client.
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

// told records a notification of a server, while a watcher is attached.
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
