// Package entry makes the entries of the record of traffic: what a call is
// about, how it ended, where its time went, and what was translated.
package entry

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unsafe"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
)

// A Keeper has those who hear of calls.
type Keeper struct {
	Traffic *traffic.Recorder          // nil keeps no record
	Observe func(*traffic.Observation) // nil hears nothing
}

// Watched says whether anything keeps a record of calls.
func (k *Keeper) Watched() bool { return k.Traffic.Enabled() || k.Observe != nil }

// End notes how a call ended.
func (k *Keeper) End(id uint64, span *traffic.Span, c *traffic.Call, o *traffic.Outcome, params, body []byte) {
	k.Traffic.End(id, o, body)
	if k.Observe == nil {
		return
	}
	seen := traffic.Observation{Call: *c, Span: *span, Request: params}
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
