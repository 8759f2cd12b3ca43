package upstream

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/upstream/backoff"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/hop"
	"mcp-all-in-one/internal/upstream/inflight"
	"mcp-all-in-one/internal/upstream/lists"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/modern"
)

// Call sends a request to the server on behalf of c. It returns exactly once: the server's
// answer, or one error that says what happened.
func (u *Upstream) Call(ctx context.Context, c *Caller, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	place, err := u.queue.Enter(ctx, c.who(ctx))
	if err != nil {
		return nil, mcp.NotSent(err)
	}
	defer place.Leave(ctx)
	resp, err, ran := u.try(ctx, c, req)
	for range (once{&u.connections}).tries() {
		if err == nil || ran || !failure.IsRefusal(err) {
			return resp, err
		}
		// The server said that the request did not run, so sending it again does not run it
		// twice.
		resp, err, ran = u.try(ctx, c, req)
	}
	if err != nil && !ran && failure.IsRefusal(err) {
		err = u.report.Failure(ctx, err, nil)
	}
	return resp, err
}

// try sends the request once. ran is false when the request provably did not
// reach the server's code.
func (u *Upstream) try(ctx context.Context, c *Caller, req *jsonrpc.Request) (resp *jsonrpc.Response, err error, ran bool) {
	l, release, err := u.acquire(ctx, c, req)
	if err != nil {
		return nil, mcp.NotSent(err), false
	}
	defer release()
	if req.Trip != nil {
		req.Trip.Version = l.said.Version
	}
	resp, err = l.call(ctx, c, req)
	if err == nil && l.there() && hasLeft(l, resp) {
		err = &failure.Lost{Err: errMoved}
		l.refused(ctx, err)
		return nil, err, false
	}
	if err == nil && modern.RefusesVersion(resp.Err, l.era) {
		// The server was replaced by one that speaks other versions. A new handshake is
		// needed.
		once{&u.connections}.learn(memory.Unknown)
		err = &failure.Lost{Err: resp.Err}
		l.refused(ctx, err)
		return nil, err, false
	}
	if err == nil {
		if l.era == mcp.Modern && req.Method == mcp.MethodToolsCall && modern.AsksOldWay(resp) {
			u.noteOldWay()
		}
		return resp, nil, true
	}
	if errors.Is(err, errTaken) {
		return nil, err, false
	}
	if lost := failure.Refusal(err); lost != nil {
		l.refused(ctx, lost)
		u.checkPrimary(l, lost)
		return nil, lost, false
	}
	if failure.StatusOf(err) == http.StatusUnauthorized {
		l.finish(err) // the next caller gets the error from the state
		err = personal{&u.connections}.refused(l.slot, err)
	}
	return nil, u.report.Failure(ctx, err, l.whyEnded), true
}

// refused handles a request that the server turned away. If the server is overloaded, it
// waits a moment. Otherwise the session is lost, and it ends the connection.
func (l *link) refused(ctx context.Context, err error) {
	switch failure.StatusOf(err) {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		backoff.Wait(ctx, max(backoff.Spread(backoff.Base), failure.RetryAfter(err)))
	default:
		l.finish(err)
	}
}

// errTaken means that the connection was given to another client before the call was sent.
var errTaken error = &failure.Lost{Err: i18n.Errorf("the connection now belongs to another client", "该连接已归另一个客户端使用")}

// checkPrimary checks whether the server still knows the primary connection, after it did
// not know another connection of ours. A restarted server may have other features.
func (u *Upstream) checkPrimary(l *link, why error) {
	p := u.primary.current()
	if l.slot == u.primary || p == nil || p.era == mcp.Modern || httpclient.NotSent(why) {
		return
	}
	u.background.Go(func() {
		if _, err := Ping(u.life, u); err != nil {
			u.log.Debug("asking on the primary connection", "err", err)
		}
	})
}

// Ping asks the server for a sign of life on its primary connection. It returns how long
// any answer took: a server may have no such method.
func Ping(ctx context.Context, u *Upstream) (time.Duration, error) {
	p := u.primary.current()
	if p == nil {
		return 0, i18n.Errorf("server %q is not connected", "服务器 %q 未连接", u.name)
	}
	method := mcp.MethodPing
	if p.era == mcp.Modern {
		method = mcp.MethodDiscover
	}
	ctx, cancel := context.WithTimeout(ctx, u.limits.Handshake)
	defer cancel()
	began := time.Now()
	_, err := p.ask(ctx, method, nil)
	return time.Since(began), err
}

func (l *link) call(ctx context.Context, c *Caller, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if l.spot != nil {
		if c.Peer && l.there() {
			return nil, mcp.Failure(mcp.Draining, l.up.name, "the server is on another replica")
		}
		ctx = withClient(ctx, c)
	}
	k := &inflight.Call{Client: c, Who: c.who(ctx), Idle: l.up.idleFor(req)}
	if c.Peer {
		k.Remote = hop.Client(ctx)
	}
	ctx, params := l.calls.Begin(ctx, l.peer, k, req, l.era != c.Era)
	defer l.calls.End(k)
	if !l.slot.exclusive && !l.slot.exact && !l.serves(c) {
		return nil, errTaken
	}
	bridged := false
	switch {
	case l.era == mcp.Modern && c.Era == mcp.Legacy:
		params, bridged = l.withMeta(params, c), true
	case l.era == mcp.Legacy && c.Era == mcp.Modern:
		params = modern.WithoutMeta(params)
		if err := l.setLevel(ctx, c.LogLevel()); err != nil {
			return nil, err
		}
	}
	k.Sent = jsonrpc.Request{Method: req.Method, Params: params, Back: k, Trip: req.Trip}
	resp, err := l.send(ctx, &k.Sent)
	if err != nil {
		k.Failed(ctx)
	}
	if err == nil && (bridged || c.Rounds && l.era == mcp.Modern) {
		rounds := modern.Rounds{
			Server: l.up.name,
			Ask: func(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
				return k.Handle(ctx, l.peer, req)
			},
			Send: func(ctx context.Context, params []byte) (*jsonrpc.Response, error) {
				return l.send(ctx, &jsonrpc.Request{Method: req.Method, Params: params, Back: k, Trip: k.Sent.Trip})
			},
		}
		resp, err = rounds.Run(ctx, params, resp)
	}
	followed := err == nil && resp.Err == nil && l.era == mcp.Legacy && l.calls.Follow(k, req, resp)
	if !followed {
		k.FinishProgress()
	}
	return resp, failure.Cause(ctx, err)
}

// send sends a request. An answer counts whatever its HTTP status is, unless it says that
// the request did not run.
func (l *link) send(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	resp, err := withObject(l.ours(ctx, req))
	if err == nil || resp == nil || resp.Err == nil {
		return resp, err
	}
	if l.era == mcp.Modern && resp.Err.Code == mcp.CodeHeaderMismatch {
		// The schema of the tool has changed, so its headers must be rebuilt.
		l.refresh.Mark(lists.Tools)
	}
	if failure.Refusal(err) != nil && !(l.era == mcp.Modern && failure.StatusOf(err) == http.StatusNotFound) || failure.IsAuth(err) {
		return nil, err
	}
	return resp, nil
}

// withObject returns an error if the result of an answer is not an object. In MCP all
// results are; a client's library would fail on null.
func withObject(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	if err != nil || resp.Err != nil || bytes.HasPrefix(bytes.TrimLeft(resp.Result, " \t\r\n"), []byte("{")) {
		return resp, err
	}
	defer resp.Release()
	begin := string(resp.Result[:min(100, len(resp.Result))]) // the error may be read after the release
	return nil, i18n.Errorf("%w: the result is not an object: %s", "%w：result 不是对象：%s", jsonrpc.ErrBadAnswer, begin)
}

// ours sends a request in the era of the connection.
func (l *link) ours(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if l.era == mcp.Modern {
		return modern.Call(ctx, l.peer, req)
	}
	return l.peer.Call(ctx, req)
}

// withMeta adds the _meta that every request to a modern server carries.
func (l *link) withMeta(params []byte, c *Caller) []byte {
	offer, info := c.Offer, c.Info
	if c.Era == mcp.Legacy && c.Version != "" {
		offer = offer.For(mcp.Rules(c.Version))
	}
	if len(info) == 0 {
		info = l.up.opt.Info
	}
	return modern.WithMeta(params, offer, info, c.LogLevel())
}
