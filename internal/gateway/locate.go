package gateway

import (
	"context"
	"time"

	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/project"
)

// rootsWait is how long a client may take to tell its roots.
const rootsWait = 5 * time.Second

// locate finds out what a client works on, where a server has a connection for
// each project. A session is asked once, and again when its roots have changed; a
// modern client has no session, so each of its calls asks. Where the protocol has
// no way to ask it, it works on the only project of its principal. A task stays
// where it was begun.
func (d *dispatcher) locate(ctx context.Context, c *Call, t *target) {
	p := &c.client
	if t.upstream == nil || !t.upstream.Config().ByProject() || p.roots == nil || p.caller.Peer || !p.caller.Offer.Roots {
		return
	}
	if p.rules.Era == mcp.Modern && (c.Method == mcp.MethodComplete || c.Method == mcp.MethodSubscribe) {
		p.caller = p.caller.Again() // the request may be about other servers, too
		p.caller.Move(upstream.OnlyProject(t.upstream, d.opening.Who.ID))
		return
	}
	d.askRoots(ctx, c, t)
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
		wait = modern.TTL // it answers in its next request
	}
	ask := func(ctx context.Context) (*jsonrpc.Response, error) {
		return p.back.Handle(ctx, nil, &jsonrpc.Request{Method: mcp.MethodRootsList})
	}
	p.roots.Ask(ctx, wait, ask, func(to *project.Project, again bool) {
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

// vouched is a project as far as commands may start in its folder. On stdio the
// ordinary connection is the one of the folder that we were started in.
func (o *Opening) vouched(p *project.Project) *project.Project {
	switch {
	case p == nil || o.Stdio && p.Here():
		return nil
	case !o.Who.MayChooseFolder():
		p.Folder = ""
	}
	return p
}
