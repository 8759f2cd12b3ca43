package upstream

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/inflight"
	"mcp-all-in-one/internal/upstream/lists"
	"mcp-all-in-one/internal/upstream/project"
)

// Handle answers a question of the server that the transport could not assign to a call.
func (l *link) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if l.era == mcp.Modern {
		l.up.observed.Count("question from a modern server")
		return mcp.Refuse(req), nil
	}
	if resp, ok := l.Answer(req); ok {
		return resp, nil
	}
	l.up.calls.Asked.Add(1)
	if !l.slot.exact && req.Method != mcp.MethodRootsList {
		l.up.noteAsks(l) // also if the client is certain: the next question may coincide with another
	}
	if req.Method == mcp.MethodRootsList && l.calls.Culprit() == nil {
		l.up.opt.Memory.SetRoots(l.up.hash)
	}
	allowed := func(k *inflight.Call) bool { return k.Allows(req) }
	newest := l.calls.Newest(allowed)
	if owner := ownerOf(l); owner != nil {
		if newest != nil {
			return newest.AskForAny(ctx, from, req)
		}
		if owner.Outside != nil && owner.Offer.Allows(req.Method, req.Params) {
			return owner.Outside(l.up.name).Handle(ctx, from, req)
		}
		return mcp.Refuse(req), nil
	}
	if k := l.calls.Awaiting(req.Params); k != nil && k.Allows(req) {
		return k.Ask(ctx, from, req)
	}
	k := l.calls.Culprit()
	if req.Method == mcp.MethodRootsList {
		if k = l.calls.Lend(); k == nil {
			return project.List(l.up.opt.Roots()), nil
		}
	}
	refusal := mcp.Refuse(req)
	switch mixed := l.calls.Mixed(); {
	case k != nil && !k.Allows(req):
	case mixed:
		refusal = whose(l, req)
	case k != nil:
		return k.AskForAny(ctx, from, req)
	}
	l.up.noteAsks(l)
	if k != nil {
		return k.UnansweredForAny(ctx, req, refusal), nil
	}
	return l.Unanswered(ctx, req, refusal), nil
}

// ownerOf returns the client that all messages on the connection are for; nil if there is
// none. The session of another replica is such a client unless it has made calls of several
// principals. It must be called after the recipient was chosen, and so must Mixed, because
// a call of another principal may begin at any time.
func ownerOf(l *link) *Caller {
	c := l.slot.owner()
	if c != nil && c.Peer && l.calls.Mixed() {
		return nil
	}
	return c
}

// whose refuses a question on a connection that several principals use, and says how to get
// one that is put to its client.
func whose(l *link, req *jsonrpc.Request) *jsonrpc.Response {
	cure := "from now on a new session has a connection of its own, so connect to the gateway again and repeat the call"
	if l.up.Config().Share != "auto" {
		cure = `with "share": "session" in the entry of the server, each session has a connection of its own`
	}
	return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeMethodNotFound,
		"Several keys or users share the connection to server '%s', which does not say whose call '%s' is about; %s", l.up.name, req.Method, cure).
		WithData(map[string]string{"method": req.Method, "reason": "several principals share the connection"})}
}

// Answer answers questions that need no client: ping always, and roots/list on a connection
// that several clients share. The roots of a single client are never sent there: a file
// server replaces its allowed directories by the roots that it gets, so the roots of one
// client would change the sandbox of all. The clients of a project have the same roots, so
// those are sent.
func (l *link) Answer(req *jsonrpc.Request) (*jsonrpc.Response, bool) {
	switch req.Method {
	case mcp.MethodPing:
		return &jsonrpc.Response{Result: []byte("{}")}, true
	case mcp.MethodRootsList:
		if l.era == mcp.Modern {
			return nil, false // a modern question belongs to one request, and the server does not keep the roots
		}
		if p := l.slot.project; p != nil {
			return &jsonrpc.Response{Result: p.Roots}, true
		}
		if !l.slot.exclusive && !l.mayLend() {
			return project.List(l.up.opt.Roots()), true
		}
		l.calls.Tell()
		l.up.noteAsks(l)
		if owner := l.slot.owner(); owner != nil && !owner.Offer.Roots {
			return project.List(l.up.opt.Roots()), true
		}
	}
	return nil, false
}

// HandleNotification handles a notification that the server sends outside the stream of a
// call.
func (l *link) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	switch n.Method {
	case mcp.NotificationProgress:
		if k := l.calls.WithToken(jsonrpc.Get(n.Params, "progressToken")); k != nil {
			k.HandleNotification(ctx, from, n)
			return
		}
		l.up.observed.Count("progress for no call")
		return
	case mcp.NotificationTools:
		l.refresh.Mark(lists.Tools)
		return
	case mcp.NotificationPrompts:
		l.refresh.Mark(lists.Prompts)
		return
	case mcp.NotificationResources:
		l.refresh.Mark(lists.Resources)
		return
	case mcp.NotificationUpdated:
		if l.up.calls.Passes() {
			uri, _ := jsonrpc.GetString(n.Params, "uri")
			l.slot.subs.Tell(ctx, l.up.name, uri, n)
		}
		return
	case mcp.NotificationTasks:
		if l.up.calls.Passes() {
			id, _ := jsonrpc.GetString(n.Params, "taskId")
			l.slot.tasks.Tell(ctx, l.up.name, id, n)
		}
		return
	case mcp.NotificationListening:
		l.listen.Acknowledged(n.Params)
		return
	case mcp.NotificationTaskStatus:
		l.calls.FollowStatus(n.Params)
	}
	l.deliver(ctx, from, n)
}

// deliver passes a notification on if its recipient is certain: the session that owns the
// connection, or the only caller with a call in flight. If several principals have used the
// connection, it is only the call that waits for the task that the notification names.
func (l *link) deliver(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if !l.up.calls.Passes() {
		return
	}
	heard := func(k *inflight.Call) bool { return k.Back != nil }
	newest := l.calls.Newest(heard)
	if owner := ownerOf(l); owner != nil {
		if newest != nil {
			newest.Back.HandleNotification(ctx, from, n)
		} else if owner.Outside != nil {
			owner.Outside(l.up.name).HandleNotification(ctx, from, n)
		}
		return
	}
	k := l.calls.Only(heard)
	if l.calls.Mixed() {
		k = l.calls.Awaiting(n.Params)
	}
	if k != nil && heard(k) {
		k.Back.HandleNotification(ctx, from, n)
		return
	}
	l.up.observed.Count("notification for no call")
}

// Unanswered handles a question that no client can answer: a person may answer it;
// otherwise it is refused.
func (l *link) Unanswered(ctx context.Context, req *jsonrpc.Request, refusal *jsonrpc.Response) *jsonrpc.Response {
	if l.up.opt.Person != nil {
		if resp := l.up.opt.Person(ctx, l.up.name, req); resp != nil {
			return resp
		}
	}
	return refusal
}

// NotOffered records that the server asks a question that the client did not offer to
// answer, unless the connection already tells the server the exact offer.
func (l *link) NotOffered() {
	if !l.slot.exact {
		l.up.noteAsks(l)
	}
}

// mayLend reports whether a shared connection may be given to one client. That is the case
// if the transport does not tell which call a question belongs to and other clients can get
// another connection.
func (l *link) mayLend() bool {
	u := l.up
	return u.Config().Share == "auto" && !l.slot.exact && u.opt.Greeting == nil
}
