package console

import (
	"context"
	"errors"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/bench"
)

// A direct is a connection of the console that bypasses the gateway. It records
// and reports calls as the gateway would.
type direct struct {
	in     *instance.Instance
	who    access.Principal
	target *bench.Target
}

// record records a call that has ended.
func (d *direct) record(s *probe.Session, x *probe.Exchange, began time.Time, err error) uint64 {
	result := []byte(x.Result)
	o := traffic.Outcome{Status: traffic.StatusOK, Total: time.Since(began)}
	switch {
	case errors.Is(err, context.Canceled):
		o.Status = traffic.StatusCancelled
	case err != nil:
		o.Status, o.Code, result = traffic.StatusError, jsonrpc.CodeInternal, []byte(err.Error())
	case x.Err != nil:
		o.Status, o.Code, result = traffic.StatusError, x.Err.Code, jsonrpc.AppendError(nil, x.Err)
	case x.IsToolError():
		o.Status = traffic.StatusToolError
	}
	return d.keep(x.Method, began, o, s.Redact(x.Params), s.Redact(result))
}

// opened records the start of the connection, because a command runs from then
// on.
func (d *direct) opened(began time.Time, err error) {
	o := traffic.Outcome{Status: traffic.StatusOK, Total: time.Since(began)}
	if err != nil {
		o.Status, o.Code = traffic.StatusError, jsonrpc.CodeInternal
	}
	d.keep(mcp.MethodInitialize, began, o, nil, nil)
}

func (d *direct) keep(method string, began time.Time, o traffic.Outcome, params, result []byte) uint64 {
	c := traffic.Call{
		Kind: traffic.KindCall, Hop: traffic.HopClient, Start: began, Client: "bench", Bench: true,
		Principal: d.who.ID, Owner: d.who.Owner(), Door: traffic.DoorConsole, Schema: d.target.Schema, Server: d.label(),
		Method: method, Name: probe.SubjectOf(params), Status: o.Status, Code: o.Code, Total: o.Total, Transport: o.Total,
		ReqSize: int64(len(params)), ResSize: int64(len(result)),
	}
	if d.in.Observe != nil {
		d.in.Observe(&traffic.Observation{Call: c, Span: traffic.NewSpan(""), Item: c.Name, Request: params})
	}
	return d.in.Traffic.Add(&c, params, result)
}

// label returns the server, or the command or URL without its secrets.
func (d *direct) label() string {
	t := d.target
	if t.Server != "" {
		return t.Server
	}
	return t.From().String()
}
