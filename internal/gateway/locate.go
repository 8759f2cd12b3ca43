package gateway

import (
	"context"
	"maps"
	"slices"
	"time"

	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/project"
)

// rootsWait is how long a client may take to answer roots/list.
const rootsWait = 5 * time.Second

// locate finds the client's project if the server has a connection for each
// project, or keeps the roots of a client that has no session. It asks a session for its roots once, and again after they changed. A
// modern client has no session, so each of its calls asks. If the protocol has no
// way to ask, the only project of the principal is used; a subscription uses all
// of them. A task stays at the connection that began it.
func (d *dispatcher) locate(ctx context.Context, c *Call, t *target) {
	p := &c.client
	if t.upstream == nil || p.roots == nil || p.caller.Peer || !p.caller.Offer.Roots || !upstream.ByProject(ctx, t.upstream, p.caller) {
		return
	}
	if p.rules.Era == mcp.Modern && (c.Method == mcp.MethodComplete || c.Method == mcp.MethodSubscribe) {
		p.caller = p.caller.Again() // the request may involve other servers
		if all := upstream.Projects(t.upstream, d.opening.Who.ID); len(all) == 1 {
			p.caller.Move(slices.Collect(maps.Values(all))[0])
		}
		return
	}
	d.askRoots(ctx, c, t)
}

// callers returns the callers as which a modern client subscribes to a
// resource: one for each project of the principal, because the protocol has no
// way to ask which it is about. News of another project cost a read at most.
func (l *listener) callers(c *Call, t *target) (list []*upstream.Caller) {
	at := c.client.caller
	if t.upstream.Config().ByProject() && at.Offer.Roots && at.Project() == nil {
		for _, p := range upstream.Projects(t.upstream, l.s.opening.Who.ID) {
			one := at.Again()
			one.Move(p)
			list = append(list, one)
		}
	}
	if list == nil {
		list = append(list, at)
	}
	return list
}

func (d *dispatcher) askRoots(ctx context.Context, c *Call, t *target) {
	p := c.client
	if at, known := d.gw.tasks.Project(d.taskKey(t)); t.kind == taskItem && known {
		if at.ID() != p.caller.Project().ID() {
			c.client.caller = p.caller.Again()
			c.client.caller.Move(at)
		}
		return
	}
	wait := rootsWait
	if p.rules.Era == mcp.Modern {
		wait = modern.TTL // a modern client answers in its next request
	}
	ask := func(ctx context.Context) (*jsonrpc.Response, error) {
		return p.back.Handle(ctx, nil, &jsonrpc.Request{Method: mcp.MethodRootsList})
	}
	of := project.Of
	if !t.upstream.Config().ByProject() {
		of = project.Any
	}
	p.roots.Ask(ctx, wait, ask, of, func(to *project.Project, again bool) {
		to = d.opening.vouched(to)
		switch {
		case p.caller != d.caller:
			p.caller.Move(to)
		case to.ID() != d.caller.Project().ID():
			d.subscriptions.move(ctx, to)
		}
		if again {
			d.sender.tell(ctx, &jsonrpc.Notification{Method: mcp.NotificationRootsList}, true)
		}
	})
}

// vouched returns the project, with its folder only if commands may start there.
// On stdio the ordinary connection belongs to the gateway's working directory.
func (o *Opening) vouched(p *project.Project) *project.Project {
	switch {
	case p == nil || o.Stdio && p.Here():
		return nil
	case !o.Who.MayChooseFolder():
		p.Folder = ""
	}
	return p
}
