package gateway

import (
	"context"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/results"
	"mcp-all-in-one/internal/gateway/scripts"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

// SignedOut deletes the kept and cached results that a user got from a server;
// an empty user means all users.
func (g *Gateway) SignedOut(u *upstream.Upstream, user string) {
	upstream.SignedOut(u, user)
	g.Kept.Forget(kept.Owner{Principal: user, Schema: u.Config().Schema}, u.Name())
}

// largeResults keeps large results of which the client was shown a part.
type largeResults struct{ *account }

// show replaces a large tool result by a part of it and keeps the whole for the
// principal. Results of a script's inner calls are never cut, because they do
// not reach a model.
func (s *largeResults) show(c *Call, t *target, resp *jsonrpc.Response) {
	if s.opening.Server != "" || c.Via == traffic.DoorRun || c.Via == traffic.DoorScript {
		return
	}
	rules := s.resultRules().Of(t.upstream.Config(), t.name)
	if !kept.Small(len(resp.Result), rules.Limit, rules.Blobs) {
		s.cut(c, t, rules, resp)
	}
	if size := len(resp.Result); size > kept.LeastShown {
		name, _ := jsonrpc.GetString(c.client.caller.Info, "name")
		s.gw.tallies.Of(s.opening.Schema).Large.Note(size, name)
	}
}

// cut replaces a large result by a part of it, and counts the tokens saved.
func (s *largeResults) cut(c *Call, t *target, rules config.ResultLimit, resp *jsonrpc.Response) {
	keep := func(data []byte, block bool) (string, error) {
		uri, err := s.gw.Kept.Put(s.opening.keeper(), kept.Result{Data: data, Block: block, From: t.from()})
		if err != nil {
			s.gw.log.Warn("a large result passes whole: it could not be kept", "bytes", len(data), "err", err)
		}
		return uri, err
	}
	cut := results.Cutter{Rules: rules, File: &s.gw.config().Results, Links: c.client.rules.Links, Mode: s.look().Mode, Structured: c.Via == traffic.DoorExec, Keep: keep}
	if left, some := cut.Cut(resp); some {
		s.account.count(func(t *receipt.Tally) { t.Cut(left) })
	}
}

// read answers resources/read of a kept result.
func (s *largeResults) read(ctx context.Context, uri string) (*jsonrpc.Response, error) {
	env := &builtin.Env{Principal: s.opening.Who.ID, Kept: s.get, ReadLimit: s.resultRules().ReadLimit(), JQ: s.gw.opt.Scripts.Filter}
	resp, err := results.Read(ctx, env, uri)
	if err == nil {
		s.account.readBack(resp.Result)
	}
	return resp, err
}

// get returns a kept result of the session's principal, from the replica that its
// URI names, unless the principal has lost its access to a server that it came from.
// Those servers are sources of the script that reads it.
func (s *largeResults) get(ctx context.Context, uri string) (r kept.Result, err error) {
	uri, replica := s.gw.seals.Unmark(uri)
	if replica == "" || replica == s.gw.opt.Owner || s.gw.opt.Fetch == nil {
		r, err = s.gw.Kept.Get(ctx, s.opening.keeper(), uri)
	} else {
		r, err = s.gw.opt.Fetch(ctx, replica, s.opening.keeper(), uri)
	}
	if err == nil && !s.opening.Who.MaySeeAll(s.opening.Schema, r.From) {
		return kept.Result{}, kept.ErrNotFound
	}
	scripts.Note(ctx, r.From...)
	return r, err
}

// Mark returns the suffix of ids that names the replica of a gateway; empty without a
// cluster.
func Mark(g *Gateway) string { return g.mark }
