// Package entry makes the entries of the record of traffic: what a call is
// about, how it ended, where its time went, and what was translated.
package entry

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/usage"
)

// A Keeper has those who hear of calls.
type Keeper struct {
	Traffic *traffic.Recorder          // nil keeps no record
	Observe func(*traffic.Observation) // nil hears nothing
	Usage   *usage.Book                // nil counts nothing

	denied sync.Map // servers of which Denied has told
}

// Watched says whether anything keeps a record of calls.
func (k *Keeper) Watched() bool { return k.Detailed() || k.Usage.On() }

// Detailed says whether anything keeps a record of what servers are asked, too.
func (k *Keeper) Detailed() bool { return k.Traffic.Enabled() || k.Observe != nil }

// End notes how a call ended.
func (k *Keeper) End(id uint64, span *traffic.Span, c *traffic.Call, o *traffic.Outcome, params, body []byte) {
	k.Traffic.End(id, o, body)
	k.count(c, o, int64(len(body)))
	if k.Observe == nil {
		return
	}
	seen := traffic.Observation{Call: *c, Span: *span, Request: params, Yes: o.Yes}
	seen.Name = strings.Clone(c.Name)
	seen.Status, seen.Code, seen.Reason, seen.Total, seen.ResSize = o.Status, o.Code, o.Reason, o.Total, int64(len(body))
	if len(o.Notes) > 0 {
		seen.Notes = slices.Concat(c.Notes, o.Notes)
	}
	if o.Server != "" {
		seen.Server, seen.Item = o.Server, o.Item
	}
	k.Observe(&seen)
}

// count counts a client's call for the figures of the day. The console is for
// trying things, so its calls are left out.
func (k *Keeper) count(c *traffic.Call, o *traffic.Outcome, got int64) {
	if c.Hop != traffic.HopClient || c.Door == traffic.DoorConsole || !k.Usage.On() {
		return
	}
	key := usage.Key{Principal: c.Principal, Client: c.Client, Door: c.Door, Schema: c.Schema, Server: o.Server, Name: o.Item}
	switch {
	case c.Method == mcp.MethodToolsCall && o.Item != "":
		key.Kind = usage.Tool
	case c.Method == mcp.MethodPromptsGet && o.Server != "":
		key.Kind = usage.Prompt
	case c.Method == mcp.MethodResourcesRead && o.Server != "":
		key.Kind, key.Name = usage.Resource, "" // an address is as private as an argument
	case c.Method == mcp.MethodToolsList && o.Status == traffic.StatusOK:
		key.Kind, key.Server = usage.List, c.Server
	default:
		return
	}
	sent := c.ReqSize
	if c.Door == traffic.DoorRun || c.Door == traffic.DoorScript {
		sent, got = 0, 0 // a script's model sees what the script returns
	}
	k.Usage.Count(key, o.Status, c.Start.Add(o.Total), o.Total, sent, got)
}

// A Verdict remembers of the large result of a server whether it tells of a
// failure: to find out takes reading all of it.
type Verdict struct{ last atomic.Pointer[judged] }

type judged struct {
	result []byte
	failed bool
}

// large is from where on a verdict is worth remembering.
const large = 32 << 10

// Outcome is how the call to a server ended, and the body of its answer.
func (v *Verdict) Outcome(ctx context.Context, resp *jsonrpc.Response, err error) (traffic.Outcome, []byte) {
	o, body := Outcome(ctx, resp, err)
	if err == nil && resp.Err == nil && len(body) >= large {
		v.last.Store(&judged{body, o.Status == traffic.StatusToolError})
	}
	return o, body
}

// Again is how the request ended that the call was made for. Most results of
// servers are its result, as they are.
func (v *Verdict) Again(ctx context.Context, resp *jsonrpc.Response, err error) (traffic.Outcome, []byte) {
	j := v.last.Load()
	if j == nil || err != nil || resp.Err != nil || len(resp.Result) != len(j.result) || &resp.Result[0] != &j.result[0] {
		return Outcome(ctx, resp, err)
	}
	if j.failed {
		return traffic.Outcome{Status: traffic.StatusToolError}, resp.Result
	}
	return traffic.Outcome{Status: traffic.StatusOK}, resp.Result
}

// Outcome is how a request ended, and the body of its answer.
func Outcome(ctx context.Context, resp *jsonrpc.Response, err error) (traffic.Outcome, []byte) {
	switch {
	case err != nil:
		return failure(ctx, err)
	case resp.Err != nil:
		return refusal(resp.Err)
	case mcp.IsToolError(resp.Result):
		return traffic.Outcome{Status: traffic.StatusToolError}, resp.Result
	default:
		return traffic.Outcome{Status: traffic.StatusOK}, resp.Result
	}
}

func failure(ctx context.Context, err error) (traffic.Outcome, []byte) {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return refusal(wire)
	}
	if ctx.Err() != nil {
		return traffic.Outcome{Status: traffic.StatusCancelled}, nil
	}
	return traffic.Outcome{Status: traffic.StatusError, Code: jsonrpc.CodeInternal}, []byte(err.Error())
}

func refusal(e *jsonrpc.Error) (traffic.Outcome, []byte) {
	return traffic.Outcome{Status: traffic.StatusError, Code: e.Code, Reason: reasonOf(e)}, jsonrpc.AppendError(nil, e)
}

// reasonOf is the reason of an error that we made; empty for a server's.
func reasonOf(e *jsonrpc.Error) string {
	if e.Raw != nil || e.Code != jsonrpc.CodeInternal {
		return ""
	}
	reason, _ := jsonrpc.GetString(e.Data, "reason")
	return reason
}

// Split says where the time of a call to a server went. Until a transport took
// it, the call waited here: for its turn, or for the server to start.
func Split(o *traffic.Outcome, start time.Time, trip *jsonrpc.Trip) {
	o.Gateway = o.Total
	if left := trip.Left(); !left.IsZero() {
		o.Gateway = min(max(left.Sub(start), 0), o.Total)
	}
	o.Transport = min(trip.Carried(), o.Total-o.Gateway)
	o.ServerTime = o.Total - o.Gateway - o.Transport
}

// Subject is what a request is about: a tool, a prompt, a resource. It may be a
// part of params: a caller that keeps it must copy it.
func Subject(params []byte) string {
	if text, ok := leadingName(params); ok {
		return text
	}
	for _, path := range subjects {
		if text, ok := jsonrpc.GetString(params, path...); ok {
			return text
		}
	}
	return ""
}

// subjects are where the methods of the protocol say what they are about.
var subjects = [...][]string{{"name"}, {"uri"}, {"taskId"}, {"ref", "name"}, {"ref", "uri"}}

// leadingName is the name where it comes first and has no escapes, as in nearly
// all calls of tools.
func leadingName(params []byte) (string, bool) {
	const start = `{"name":"`
	if len(params) <= len(start) || string(params[:len(start)]) != start {
		return "", false
	}
	text := params[len(start):]
	n := bytes.IndexByte(text, '"')
	if n <= 0 || bytes.IndexByte(text[:n], '\\') >= 0 {
		return "", false
	}
	return unsafe.String(&text[0], n), true
}
