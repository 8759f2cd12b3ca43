package upstream

import (
	"context"
	"net/http"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/lists"
	"mcp-all-in-one/internal/upstream/pin"
)

func (l *link) loadFeatures(ctx context.Context) error {
	f, err := l.fetch(ctx, lists.All, nil)
	if err != nil {
		return err
	}
	l.loaded = f
	l.slot.features.Store(f)
	personal{l.up}.learn(l.slot, f)
	l.refresh.Start()
	return nil
}

func (l *link) fetch(ctx context.Context, which lists.Kind, old *catalog.Features) (*catalog.Features, error) {
	source := lists.Source{
		Ask: l.ask, Era: l.era, Said: &l.said, Headers: l.child == nil, Config: l.up.Config, Pins: l.up.pins.For(l.slot.user),
		Report: l.up.observed.SetIssues, Timeout: l.up.limits.Handshake, Log: l.up.log,
	}
	return source.Fetch(ctx, which, old)
}

func (l *link) reload(ctx context.Context, which lists.Kind) {
	f, err := l.fetch(ctx, which, l.slot.features.Load())
	if ctx.Err() != nil {
		return // the connection is being closed
	}
	if err != nil {
		l.up.log.Warn("refreshing lists", "err", err)
		return
	}
	l.slot.features.Store(f)
	personal{l.up}.learn(l.slot, f)
	l.up.changed()
}

// ask sends a request of the gateway itself. It waits as long as a call may be silent.
func (l *link) ask(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error) {
	if l.era == mcp.Modern {
		params = l.withMeta(params, &Caller{Offer: l.offer, Era: mcp.Modern})
	} else if string(params) == `{}` {
		params = nil
	}
	req := &jsonrpc.Request{Method: method, Params: params, Back: l}
	bounded, cancel := ctx, func() {}
	if idle := l.up.idleFor(req); idle > 0 {
		bounded, cancel = context.WithTimeout(ctx, idle)
	}
	defer cancel()
	resp, err := l.ours(bounded, req)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return nil, failure.ErrIdle
	}
	if lost := failure.Refusal(err); lost != nil && l.era == mcp.Legacy && failure.StatusOf(err) != http.StatusTooManyRequests && failure.StatusOf(err) != http.StatusServiceUnavailable {
		l.finish(err)
	}
	return resp, err
}

// Withheld reports whether c may not use a tool or a prompt because its definition differs
// from the approved one.
func (u *Upstream) Withheld(c *Caller, k catalog.Kind, name string) bool {
	return u.pins.For(u.userOf(c)).Holds(k, name)
}

// repin fetches the lists again if the pins they were checked against are outdated.
// Repin checks the definitions of the server again if its pins have changed.
func (u *Upstream) Repin() {
	if !u.pins.Outdated(u.Config().Pin) {
		return
	}
	for _, s := range append(u.slots.all(), u.primary) {
		if l := s.current(); l != nil {
			l.refresh.Mark(lists.Tools | lists.Prompts)
		}
	}
}

// Approve approves the changes that the user was shown.
func (u *Upstream) Approve(shown []pin.Change) error {
	if len(shown) == 0 {
		return nil
	}
	if err := u.pins.Approve(shown); err != nil {
		return err
	}
	u.Repin()
	return nil
}
