package mcphttp

import (
	"bytes"
	"context"
	"strings"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/wire"
)

// modernCalls is what a lane of a modern client holds its requests against: each
// repeats in its body what the header says.
type modernCalls struct {
	number  uint64
	name    string // of the tool
	version string
	open    func() (Session, error)
	// raw and meta are the last name and _meta that were found right: a client
	// repeats itself.
	raw, meta []byte
}

// modernCalls is for calls with the header of p; nil when each has to be looked at
// anew, as where arguments stand in the header.
func (p *post) modernCalls() *modernCalls {
	names := p.r.Header[headerName]
	if len(names) != 1 || mirrored(p.r.Header, headerMethod, mcp.MethodToolsCall, true) != nil || p.checkVersion(p.version) != nil {
		return nil
	}
	name, ok := decodeHeaderValue(names[0])
	if !ok {
		return nil
	}
	for key := range p.r.Header {
		if strings.HasPrefix(key, mcp.ParamHeaderPrefix) {
			return nil
		}
	}
	ctx, o := context.WithoutCancel(p.r.Context()), p.opening(TransportModern)
	return &modernCalls{
		number: p.srv.lanes.Add(1), name: name, version: p.version,
		open: func() (Session, error) { return p.srv.open(ctx, o) },
	}
}

// agrees says that a body repeats what the header says, and says who asks.
func (c *modernCalls) agrees(params []byte) bool {
	var at [2]jsonrpc.Span
	jsonrpc.Locate(params, []string{"name", "_meta"}, at[:])
	name, meta := params[at[0].Start:at[0].End], params[at[1].Start:at[1].End]
	if len(name) == 0 || !bytes.Equal(name, c.raw) {
		if text, ok := jsonrpc.Text(name); !ok || text != c.name {
			return false
		}
		c.raw = append(c.raw[:0], name...)
	}
	if len(meta) > 0 && bytes.Equal(meta, c.meta) {
		return true
	}
	version, ok := jsonrpc.GetString(meta, mcp.MetaVersion)
	caps := jsonrpc.Get(meta, mcp.MetaCapabilities)
	if !ok || version != c.version || len(caps) == 0 || caps[0] != '{' {
		return false
	}
	c.meta = append(c.meta[:0], meta...)
	return true
}

// enterModern counts a request in; false when there is more to it than running it
// now. Its client cancels by hanging up.
func (l *lane) enterModern(p *post, m *jsonrpc.Message, now time.Duration) bool {
	if !l.modern.agrees(m.Params) {
		return false
	}
	if l.handler == nil {
		h, err := l.modern.open()
		if err != nil {
			return false
		}
		l.handle(h)
	}
	p.modern, p.lane = true, l.modern.number
	p.ctx.Init(l.srv.life)
	p.begin(m, now)
	p.w.(wire.LaneWriter).Hear(p)
	return true
}

// HungUp implements wire.Hearer.
func (p *post) HungUp() { p.ctx.End(wire.ErrGone) }
