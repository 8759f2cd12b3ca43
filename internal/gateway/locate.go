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

// rootsWait is how long a client may take to answer roots/list.
const rootsWait = 5 * time.Second

// locate finds the client's project if the server has a connection for each
// project, or keeps the roots of a client that has no session. It asks a session
// for its roots once, and again after they changed. A modern client has no
// session, so each of its calls asks. Completions and subscriptions of a modern
// client cannot ask, so they use all projects of the principal (see
// upstream.InProjects). A task stays at the connection that began it.
func (d *dispatcher) locate(ctx context.Context, c *Call, t *target) {
	p := &c.client
	if t.upstream == nil || p.roots == nil || p.caller.Peer || !p.caller.Offer.Roots || !upstream.ByProject(ctx, t.upstream, p.caller) {
		return
	}
	if p.rules.Era == mcp.Modern && (c.Method == mcp.MethodComplete || c.Method == mcp.MethodSubscribe) {
		return
	}
	d.askRoots(ctx, c, t)
}

func (d *dispatcher) askRoots(ctx context.Context, c *Call, t *target) {
	p := c.client
	if at, known := d.gw.tasks.Project(d.taskKey(t)); t.kind == taskItem && known {
		if at.ID() != p.caller.Project().ID() {
			c.client.caller = p.caller.WithoutSession()
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
