package gateway

import (
	"context"
	"maps"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/cache"
	"mcp-all-in-one/internal/gateway/entry"
	"mcp-all-in-one/internal/gateway/listen"
	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/gateway/scripts"
	"mcp-all-in-one/internal/gateway/tasks"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/project"
)

// Only this file calls servers; a test checks that.

// send sends an authorized call to its target.
func (d *dispatcher) send(ctx context.Context, c *Call, t *target) (*jsonrpc.Response, error) {
	switch {
	case t.kind == taskItem && t.upstream == nil:
		return d.gw.tasks.AnswerOurs(ctx, d.ours(c), t.name, &jsonrpc.Request{Method: c.Method, Params: t.params, Back: c.client.back})
	case t.own != nil:
		return d.run(ctx, c, t, t.own)
	case t.instead != nil:
		return t.instead, nil
	case c.Method == mcp.MethodSubscribe:
		return d.subscriptions.begin(ctx, c, t)
	case c.Method == mcp.MethodComplete:
		return d.sender.complete(ctx, c, t)
	}
	req := &jsonrpc.Request{Method: c.Method, Params: t.params, Back: c.client.back}
	if c.Method == mcp.MethodToolsCall {
		resp, err := d.gw.cache.Do(d.lookup(ctx, c, t), req, func() (*jsonrpc.Response, error) {
			if t.stored != nil {
				return d.run(ctx, c, t, t.stored)
			}
			return d.sender.perform(ctx, c, t, req)
		})
		if err == nil {
			d.gw.rates.Answered(&d.gw.config().Limits, d.opening.counted(t), resp)
		}
		if err == nil && resp.Err == nil {
			d.large.show(c, t, resp)
		}
		return resp, err
	}
	if t.kind == taskItem {
		switch era, ok := t.upstream.Tasks(ctx, c.client.caller); {
		case ok && era == mcp.Legacy && c.client.rules.Era == mcp.Modern:
			return d.sender.modernTask(ctx, c, t)
		case ok && era == mcp.Modern && c.client.rules.Era == mcp.Legacy:
			return d.sender.translator(c.client, t.upstream).Answer(ctx, t.name, c.Method)
		}
	}
	return d.sender.exchange(ctx, c.client, t.upstream, req)
}

// lookup returns the cache key and lifetime of a result, or the zero Lookup if
// it must not be cached. Calls of another replica are cached on that replica.
func (d *dispatcher) lookup(ctx context.Context, c *Call, t *target) cache.Lookup {
	l := cache.Lookup{Life: t.upstream.Config().Tools[t.name].Cache}
	if l.Life == 0 || d.opening.Peer || !t.readOnly() {
		return cache.Lookup{}
	}
	l.Key = func() (cache.Key, bool) {
		standing := upstream.Standing(t.upstream, c.client.caller)
		return cache.KeyOf(d.opening.Who.ID, d.opening.Schema, d.opening.Server, t.upstream.Name(), standing,
			c.client.rules.Date, t.name, string(jsonrpc.Canonical(jsonrpc.AsObject(t.arguments)))), standing != ""
	}
	l.Asked = func() uint64 { return upstream.Asked(t.upstream) }
	l.From, l.Standing = t.sources.Standings, d.standing(c.client.caller)
	l.Hit = func(from []string) bool {
		if !d.opening.Who.MaySeeAll(d.opening.Schema, from) {
			return false
		}
		scripts.Note(ctx, from...)
		entry.Traced(ctx).Recalled()
		return true
	}
	return l
}

// A sender calls servers for one client and adapts their responses to it.
type sender struct {
	*viewer
	line *line
}

// exchange calls a server and adapts the response to this client.
func (s *sender) exchange(ctx context.Context, p requestClient, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	var back *tasks.Back
	if u.HasTasks() && req.Back != nil {
		back = &tasks.Back{
			Handler: req.Back, Outside: outside{s.line, u.Name()},
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

// callServer calls a server and records that hop.
func (s *sender) callServer(ctx context.Context, p requestClient, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	hop := s.line.journal.Hop(ctx, u.Name(), req)
	resp, err := s.call(ctx, p, u, req)
	if hop != nil {
		notes := s.gw.translated.Of(p.caller.Version, req.Trip.Version, p.caller.Era)
		if why := hop.End(ctx, resp, err, notes, u.Config().Sandbox.On); why != "" {
			s.gw.log.Warn("the sandbox denied access to a server", "server", u.Name(), "why", why)
		}
	}
	return resp, err
}

// call calls a server. If the response announces a task, call notes the owner
// and the project of the task.
func (s *sender) call(ctx context.Context, p requestClient, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	at := p.caller.Project()
	span := s.gw.pressure.Begin()
	resp, err := u.Call(ctx, p.caller, req)
	size := len(req.Params)
	if resp != nil {
		size += len(resp.Result)
	}
	span.End(u.Config().Type == config.TypeStdio, s.opening.Stdio, size)
	if err == nil && resp.Err == nil && req.Method == mcp.MethodToolsCall && u.HasTasks() {
		s.gw.tasks.Own(s.opening.Schema, u.Name(), s.opening.Who.Owner(), at, func() time.Time { return u.Status().Since }, resp.Result)
	}
	return resp, err
}

// perform calls a tool of a server, as a task if the client or the server wants
// that.
func (s *sender) perform(ctx context.Context, c *Call, t *target, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	p, u := c.client, t.upstream
	era, has := u.Tasks(ctx, p.caller)
	if !has {
		return s.exchange(ctx, p, u, req)
	}
	return s.translator(p, u).Perform(ctx, era, t.item, c.Via == s.opening.Via, req)
}

// translator returns the translator between a client and the server of its
// tasks.
func (s *sender) translator(p requestClient, u *upstream.Upstream) *tasks.Translator {
	as := func(caller *upstream.Caller) requestClient {
		p := p
		p.caller = caller
		return p
	}
	return &tasks.Translator{
		Book: s.gw.tasks, Caller: p.caller, Rules: p.rules,
		Link: tasks.Link{
			Schema: s.opening.Schema, Server: u.Name(), Principal: s.opening.Who.Owner(), Version: p.rules.Date, Back: p.back, Log: s.gw.log,
			Rename: func(message []byte) []byte { return s.nameTasks(u.Name(), message) },
		},
		Session: func() string { return "task-" + formatID(s.gw.ids.Add(1)) },
		Call: func(ctx context.Context, c *upstream.Caller, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			return s.callServer(ctx, as(c), u, req)
		},
		Exchange: func(ctx context.Context, c *upstream.Caller, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			return s.exchange(ctx, as(c), u, req)
		},
		Adapt:   func(resp *jsonrpc.Response) { s.adapt(p.rules, u, resp) },
		Rewrite: func(result []byte) []byte { return s.look().All.RewriteURIs(u.Name(), result) },
	}
}

// bridgeOf returns the bridge of a task that a modern client names. A task that
// was begun before this process started gets a new bridge.
func (s *sender) bridgeOf(ctx context.Context, p requestClient, t *target) (*tasks.Bridge, error) {
	if known := s.gw.tasks.Bridge(s.taskKey(t)); known != nil {
		return known, nil
	}
	if t.upstream == nil {
		return nil, refusal.NoTask(t.name)
	}
	return s.translator(p, t.upstream).Adopt(ctx, t.name)
}

// modernTask answers a modern client's request about a task of a legacy server.
func (s *sender) modernTask(ctx context.Context, c *Call, t *target) (*jsonrpc.Response, error) {
	if !c.client.caller.Offer.TakesTasks() {
		return nil, refusal.NeedsTasks()
	}
	b, err := s.bridgeOf(ctx, c.client, t)
	if err != nil {
		return nil, err
	}
	resp, err := b.Answer(ctx, c.Method, t.params)
	if err == nil && resp.Err == nil {
		resp.Result = s.nameTasks(t.upstream.Name(), resp.Result)
	}
	return resp, err
}

// complete completes an argument, in all projects that a modern client may mean.
// A project whose server fails hides only its own values.
func (s *sender) complete(ctx context.Context, c *Call, t *target) (resp *jsonrpc.Response, err error) {
	if !t.upstream.Features(c.client.caller).Offers("completions") {
		return &jsonrpc.Response{Result: catalog.JoinCompletions(nil)}, nil
	}
	var found [][]byte
	for _, caller := range upstream.InProjects(ctx, t.upstream, c.client.caller) {
		p := c.client
		p.caller = caller
		resp, err = s.exchange(ctx, p, t.upstream, &jsonrpc.Request{Method: c.Method, Params: t.params, Back: p.back})
		if err == nil && resp.Err == nil {
			found = append(found, resp.Result)
		}
	}
	if len(found) == 0 {
		return resp, err
	}
	return &jsonrpc.Response{Result: catalog.JoinCompletions(found)}, nil
}

// begin subscribes a session to a resource, once.
func (s *subscriptions) begin(ctx context.Context, c *Call, t *target) (*jsonrpc.Response, error) {
	switch known, all := s.book.Find(c.Target); {
	case known != nil: // but the server may watch it no more
		if one, resp, err := s.subscribe(ctx, t.upstream, t.name); one == nil {
			return resp, err
		} else if !s.book.Put(c.Target, known, one) {
			known = one
		}
		leave(known)
		return empty(), nil
	case all >= listen.Most:
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "this session has %d subscriptions, which is the limit", listen.Most)
	}
	if err := s.retain(listen.Weight(len(c.Target))); err != nil {
		return nil, err
	}
	one, resp, err := s.subscribe(ctx, t.upstream, t.name)
	if one == nil {
		s.retain(-listen.Weight(len(c.Target)))
		return resp, err
	}
	if !s.book.Put(c.Target, nil, one) { // another request has subscribed, or the session has ended
		s.retain(-listen.Weight(len(c.Target)))
		leave(one)
	}
	return empty(), nil
}

// subscribe subscribes the session to a resource of a server, which knows it as uri. It
// returns nil if that fails.
func (s *subscriptions) subscribe(ctx context.Context, u *upstream.Upstream, uri string) (*subscription, *jsonrpc.Response, error) {
	one, resp, err := u.Subscribe(ctx, s.caller, uri, s)
	if one != nil {
		resp, err = one.Confirm(ctx)
	}
	if err != nil || resp.Err != nil {
		return nil, resp, err
	}
	return &subscription{one, u, uri}, resp, nil
}

// move changes the project of a session, and moves its subscriptions there.
func (s *subscriptions) move(ctx context.Context, to *project.Project) {
	held := s.book.All()
	maps.DeleteFunc(held, func(_ string, one *subscription) bool { return !one.server.Config().ByProject() })
	for _, one := range held {
		one.End(ctx)
	}
	s.caller.Move(to)
	for uri, one := range held {
		s.again(ctx, uri, one, one.server)
	}
}

// again subscribes again, at the server that has taken the place of the former one. It
// reports whether the client is subscribed.
func (s *subscriptions) again(ctx context.Context, uri string, one *subscription, u *upstream.Upstream) bool {
	again, resp, err := s.subscribe(ctx, u, one.uri)
	if again == nil {
		s.gw.log.Warn("subscribing again", "upstream", u.Name(), "uri", uri, "refused", resp, "err", err)
		return false
	}
	if !s.book.Put(uri, one, again) { // the client has unsubscribed
		leave(again)
		return false
	}
	return true
}

// tell passes a notification on to the session's own connections. byProject
// selects the servers with a connection for each project, or the others.
func (s *sender) tell(ctx context.Context, n *jsonrpc.Notification, byProject bool) {
	for _, u := range s.upstreams() {
		if u.Config().ByProject() != byProject {
			continue
		}
		if err := u.Notify(ctx, s.caller, n); err != nil {
			s.gw.log.Debug("passing a notification on", "upstream", u.Name(), "method", n.Method, "err", err)
		}
	}
}

// setLevel tells the servers the lowest log level that the session wants.
func (s *sender) setLevel(ctx context.Context, level string) {
	for _, u := range s.upstreams() {
		if err := u.SetLevel(ctx, s.caller, level); err != nil {
			s.gw.log.Debug("setting the level", "upstream", u.Name(), "err", err)
		}
	}
}

// watchResource subscribes a listener to a resource, and records the outcome. It
// returns nil if the listener may not see the resource, or if the server refuses.
func (l *listener) watchResource(ctx context.Context, c *Call) *listen.Hearing {
	ctx, trace := l.s.journal.Begin(ctx, c.Via, &jsonrpc.Request{Method: c.Method, Params: c.Params}, "", entry.Subject(c.Params))
	h, resp, err := l.subscribe(ctx, c, trace)
	begun := func(resp *jsonrpc.Response, err error) { l.s.journal.End(ctx, trace, resp, err) }
	if h == nil {
		begun(resp, err)
		return nil
	}
	h.Begun = begun
	return h
}

// subscribe subscribes a listener to a resource. If no server agrees, it returns
// the answer of the last one.
func (l *listener) subscribe(ctx context.Context, c *Call, trace *entry.Trace) (h *listen.Hearing, resp *jsonrpc.Response, err error) {
	t, err := l.allowed(ctx, c, trace)
	if err != nil {
		return nil, nil, err
	}
	h = &listen.Hearing{
		Stale:   func() bool { return l.s.replaced(t.upstream) != nil },
		Again:   func(ctx context.Context) *listen.Hearing { return l.watchResource(ctx, c) },
		Changed: func(ctx context.Context) { l.Updated(ctx, t.upstream.Name(), listen.MayHaveChanged(t.name)) },
	}
	for _, caller := range upstream.InProjects(ctx, t.upstream, c.client.caller) {
		var one *upstream.Subscription
		if one, resp, err = t.upstream.Subscribe(ctx, caller, t.name, l); one != nil {
			h.Parts = append(h.Parts, one)
		}
	}
	if len(h.Parts) == 0 {
		return nil, resp, err
	}
	l.Note(c.Target)
	return h, nil, nil
}

// watchTask subscribes a listener to a task, like watchResource.
func (l *listener) watchTask(ctx context.Context, c *Call) *listen.Hearing {
	t, err := l.allowed(ctx, c, nil)
	if err != nil {
		return nil
	}
	era, ok := mcp.Legacy, true // for tasks of the gateway itself
	if t.upstream != nil {
		era, ok = t.upstream.Tasks(ctx, c.client.caller)
	}
	switch {
	case !ok:
		return nil
	case era == mcp.Legacy:
		b, err := l.s.sender.bridgeOf(ctx, c.client, t)
		if err != nil {
			return nil
		}
		b.Watch(l)
		return &listen.Hearing{Parts: []listen.Part{listen.Here(func() { b.Unwatch(l) })}}
	}
	if one := t.upstream.WatchTask(ctx, c.client.caller, t.name, l); one != nil {
		return &listen.Hearing{Parts: []listen.Part{one}}
	}
	return nil
}

// allowed resolves the target of a listener, if the listener may see it. A trace
// that is not nil leads to it.
func (l *listener) allowed(ctx context.Context, c *Call, trace *entry.Trace) (*target, error) {
	t, err := l.s.resolve(ctx, c)
	if err != nil {
		return nil, err
	}
	trace.LeadsTo(t)
	if err := l.s.guard.authorize(ctx, c, t); err != nil {
		return nil, err
	}
	l.s.locate(ctx, c, t)
	return t, nil
}

// adapt adapts the response of a server to this client: it rewrites URIs to the
// names that clients know, and content to the client's protocol version.
func (s *sender) adapt(rules mcp.Version, u *upstream.Upstream, resp *jsonrpc.Response) {
	resp.Result = s.look().All.RewriteURIs(u.Name(), resp.Result)
	if rules.Era == mcp.Legacy && !rules.Reads(u.Protocol()) {
		resp.Result = catalog.DownlevelResult(rules.Date, resp.Result, resp.Owned())
	}
}
