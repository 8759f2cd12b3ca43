package gateway

import (
	"context"
	"maps"
	"time"

	"mcp-all-in-one/internal/gateway/cache"
	"mcp-all-in-one/internal/gateway/entry"
	"mcp-all-in-one/internal/gateway/tasks"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/rate"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/project"
)

// This file alone calls servers; a test holds the others to it.

// send sends a call that may run to its target.
func (s *Session) send(ctx context.Context, c *Call, t *target) (*jsonrpc.Response, error) {
	switch {
	case t.own != nil:
		return s.runOwn(ctx, c, t)
	case c.Method == mcp.MethodSubscribe:
		resp, err := t.upstream.Subscribe(ctx, c.client.caller, t.name, s)
		if err == nil && resp.Err == nil {
			s.subscribed(c.Target, t.upstream)
			return empty(), nil
		}
		return resp, err
	case c.Method == mcp.MethodComplete && !t.upstream.Features(c.client.caller).Offers("completions"):
		return &jsonrpc.Response{Result: []byte(`{"completion":{"values":[],"total":0,"hasMore":false}}`)}, nil
	}
	req := &jsonrpc.Request{Method: c.Method, Params: t.params, Back: c.client.back}
	if c.Method == mcp.MethodToolsCall {
		resp, err := s.gw.cache.Do(lookup(ctx, s, c, t), req, func() (*jsonrpc.Response, error) { return s.perform(ctx, c, t, req) })
		if err == nil {
			s.gw.rates.Answered(&s.gw.config().Limits, counted(s, t), resp)
		}
		if err == nil && resp.Err == nil {
			s.inPart(c, t, resp)
		}
		return resp, err
	}
	if t.kind == taskItem {
		switch era, ok := t.upstream.Tasks(ctx, c.client.caller); {
		case ok && era == mcp.Legacy && c.client.rules.Era == mcp.Modern:
			return s.modernTask(ctx, c, t)
		case ok && era == mcp.Modern && c.client.rules.Era == mcp.Legacy:
			return s.legacyTask(ctx, c, t)
		}
	}
	return s.exchange(ctx, c.client, t.upstream, req)
}

// lookup says whether the result of a call may stand for others, and for which.
// What another replica asks for is kept there.
func lookup(ctx context.Context, s *Session, c *Call, t *target) cache.Lookup {
	l := cache.Lookup{Life: t.upstream.Config().Tools[t.name].Cache}
	if l.Life == 0 || s.opening.Peer || t.item == nil || !isReadOnly(t.item) {
		return cache.Lookup{}
	}
	l.Key = func() (cache.Key, bool) {
		standing := upstream.Standing(t.upstream, c.client.caller)
		return cache.KeyOf(s.opening.Who.ID, s.opening.Schema, s.opening.Server, t.upstream.Name(), standing,
			c.client.rules.Date, t.name, string(rate.Canonical(jsonrpc.AsObject(t.arguments)))), standing != ""
	}
	l.Hit = func() { traced(ctx).recalled() }
	return l
}

// exchange calls a server and makes its answer one for this client.
func (s *Session) exchange(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	var back *tasks.Back
	if u.HasTasks() && req.Back != nil {
		back = &tasks.Back{
			Handler: req.Back, Outside: outside{s, u.Name()},
			Rename: func(message []byte) []byte { return s.nameTasks(u.Name(), message) },
			Notify: func(n *jsonrpc.Notification) *jsonrpc.Notification { return s.nameTask(u.Name(), n) },
		}
		req.Back = back
	}
	resp, err := s.callServer(ctx, p, u, req)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	s.adapt(p.rules, u, resp)
	if u.HasTasks() {
		if back != nil && req.Method == mcp.MethodToolsCall && jsonrpc.Get(resp.Result, "task", "taskId") != nil {
			back.Outlive()
		}
		resp.Result = s.nameTasks(u.Name(), resp.Result)
	}
	return resp, nil
}

// callServer calls a server and keeps a record of that hop.
func (s *Session) callServer(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	t := traced(ctx)
	if t == nil {
		return s.owned(p, u, req)(u.Call(ctx, p.caller, req))
	}
	began := time.Since(t.start) // which reads one clock where Now reads two
	c := traffic.Call{Hop: traffic.HopServer, Server: u.Name(), Start: t.start.Add(began), Parent: t.id, Notes: s.gw.translated.Of(p.caller.Version, u.Protocol(), p.caller.Era)}
	s.summarize(&c, t.call.Door, req, entry.Subject(req.Params))
	var span traffic.Span
	if t.span.ID != [8]byte{} {
		span = t.span.Child()
	}
	id := s.gw.record.Traffic.Begin(&c, req.Params)
	var trip jsonrpc.Trip
	req.Trip = &trip
	resp, err := s.owned(p, u, req)(u.Call(ctx, p.caller, req))
	o, body := entry.Outcome(ctx, resp, err)
	o.Total = time.Since(t.start) - began
	entry.Split(&o, c.Start, &trip)
	s.gw.record.End(id, &span, &c, &o, req.Params, body)
	return resp, err
}

// owned notes whose the task is that an answer announces, and of which project.
func (s *Session) owned(p party, u *upstream.Upstream, req *jsonrpc.Request) func(*jsonrpc.Response, error) (*jsonrpc.Response, error) {
	at := p.caller.Project()
	return func(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
		if err == nil && resp.Err == nil && req.Method == mcp.MethodToolsCall && u.HasTasks() {
			s.gw.tasks.Own(s.opening.Schema, u.Name(), s.opening.Who.ID, at, resp.Result)
		}
		return resp, err
	}
}

// endSubscription ends what a session hears about.
func (s *Session) endSubscription(ctx context.Context, u *upstream.Upstream, uri string) (*jsonrpc.Response, error) {
	resp, err := u.Unsubscribe(ctx, s.caller, uri, s)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	return empty(), nil
}

// move makes a session one of a client that works on something else. What it
// hears about it hears of the servers that it has from now on.
func move(ctx context.Context, s *Session, to *project.Project) {
	s.mu.Lock()
	subs := maps.Clone(s.subs)
	s.mu.Unlock()
	maps.DeleteFunc(subs, func(_ string, u *upstream.Upstream) bool { return !u.Config().ByProject() })
	for uri, u := range subs {
		if _, err := u.Unsubscribe(ctx, s.caller, ownURI(s, uri), s); err != nil {
			s.gw.log.Debug("leaving a project", "upstream", u.Name(), "err", err)
		}
	}
	s.caller.Move(to)
	for uri, u := range subs {
		if _, err := u.Subscribe(ctx, s.caller, ownURI(s, uri), s); err != nil {
			s.gw.log.Warn("subscribing again", "upstream", u.Name(), "uri", uri, "err", err)
		}
	}
}

// tellServers passes a notification on to the servers that this session has to
// itself: those that have a connection for each project, or the others.
func (s *Session) tellServers(ctx context.Context, n *jsonrpc.Notification, byProject bool) {
	for _, u := range s.upstreams() {
		if u.Config().ByProject() != byProject {
			continue
		}
		if err := u.Notify(ctx, s.caller, n); err != nil {
			s.gw.log.Debug("passing a notification on", "upstream", u.Name(), "method", n.Method, "err", err)
		}
	}
}

// setServerLevel tells the servers from which level on the session wants to
// hear their logs.
func (s *Session) setServerLevel(ctx context.Context, level string) {
	for _, u := range s.upstreams() {
		if err := u.SetLevel(ctx, s.caller, level); err != nil {
			s.gw.log.Debug("setting the level", "upstream", u.Name(), "err", err)
		}
	}
}

// watchResource makes a listener hear about a resource, if it may; false where
// it may not, or the server refuses.
func (l *listener) watchResource(ctx context.Context, c *Call) (heard, bool) {
	t, ok := l.allowed(ctx, c)
	if !ok {
		return heard{}, false
	}
	resp, err := t.upstream.Subscribe(ctx, c.client.caller, t.name, l)
	return heard{t.upstream, t.name, nil}, err == nil && resp.Err == nil
}

// watchTask makes a listener hear about a task likewise.
func (l *listener) watchTask(ctx context.Context, c *Call) (heard, bool) {
	t, ok := l.allowed(ctx, c)
	if !ok {
		return heard{}, false
	}
	switch era, ok := t.upstream.Tasks(ctx, c.client.caller); {
	case !ok:
		return heard{}, false
	case era == mcp.Legacy:
		b, err := l.s.bridgeOf(ctx, c.client, t)
		if err != nil {
			return heard{}, false
		}
		b.Watch(l)
		return heard{t.upstream, t.name, b}, true
	}
	return heard{t.upstream, t.name, nil}, t.upstream.WatchTask(ctx, c.client.caller, t.name, l)
}

// allowed finds what a listener wants to hear about, where it may.
func (l *listener) allowed(ctx context.Context, c *Call) (*target, bool) {
	t, err := l.s.resolve(ctx, c)
	if err != nil || l.s.authorize(ctx, c, t) != nil {
		return nil, false
	}
	return t, true
}

// confirm waits until the servers have confirmed what a listener hears about.
func (l *listener) confirm(ctx context.Context, p party, servers []*upstream.Upstream) {
	for _, u := range servers {
		u.Listening(ctx, p.caller)
	}
}

func (l *listener) unsubscribe(p party, owned []heard) {
	release(owned, func(ctx context.Context, h heard) { h.owner.Unsubscribe(ctx, p.caller, h.id, l) })
}

func (l *listener) unwatch(p party, watched []heard) {
	release(watched, func(ctx context.Context, h heard) {
		if h.bridge != nil {
			h.bridge.Unwatch(l)
			return
		}
		h.owner.UnwatchTask(ctx, p.caller, h.id, l)
	})
}
