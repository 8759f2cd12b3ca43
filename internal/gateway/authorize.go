package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/params"
	"mcp-all-in-one/internal/gateway/pressure"
	"mcp-all-in-one/internal/gateway/scripts"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/rate"
	"mcp-all-in-one/internal/traffic"
)

// A decision lets a call to a target pass, or returns why it may not run. Those
// with peer are decided where the call runs; all others by the replica that the
// client is connected to, once. Those with runs are about the work of a server
// or of a person: a call that is only rehearsed makes none.
type decision struct {
	name       string
	decide     func(*guard, context.Context, *Call, *target) error
	peer, runs bool
}

// decisions are all that can stop a call before it is sent, in this order. A
// person is asked last, about a call that nothing else stops.
var decisions = [...]decision{
	{"draining", (*guard).notDraining, true, false},
	{"pressure", (*guard).hasMemory, true, false},
	{"scope", (*guard).inScope, false, false},
	{"present", (*guard).isPresent, true, false},
	{"lists", (*guard).isListed, false, false},
	{"pin", (*guard).isUnchanged, false, false},
	{"rate", (*guard).withinRate, false, true}, // of what is there for who asks: a refusal tells of nothing else
	{"headers", (*guard).headersMatch, false, false},
	{"arguments", (*guard).argumentsFit, false, false},
	{"repeat", (*guard).makesProgress, false, true},
	{"ask", (*guard).personAgrees, false, true},
}

// A guard decides on the calls of one client.
type guard struct{ *viewer }

// authorize decides whether a call may run. Nothing else does.
func (g *guard) authorize(ctx context.Context, c *Call, t *target) error {
	rehearsed := g.opening.Rehearse != nil && t.kind == toolItem && t.upstream != nil
	for i := range decisions {
		if g.opening.Peer && !decisions[i].peer || rehearsed && decisions[i].runs {
			continue
		}
		if err := decisions[i].decide(g, ctx, c, t); err != nil {
			return err
		}
	}
	if rehearsed {
		return g.rehearse(ctx, c, t)
	}
	return nil
}

func (g *guard) notDraining(context.Context, *Call, *target) error {
	if g.gw.draining.Load() {
		return mcp.ShutsDown()
	}
	return nil
}

// hasMemory lets our own tools pass: they are the way out.
func (g *guard) hasMemory(_ context.Context, _ *Call, t *target) error {
	if t.own == nil && g.gw.pressure.Level() >= pressure.RefuseCallsAt {
		return g.gw.shortOfMemory()
	}
	return nil
}

// inScope holds the target against the grant of the principal.
func (g *guard) inScope(_ context.Context, c *Call, t *target) error {
	if !g.mayUse(t) {
		return g.notFound(c)
	}
	return nil
}

func (g *guard) mayUse(t *target) bool {
	who := &g.opening.Who
	if t.own != nil {
		return t.own.Compact || who.MayConfigure()
	}
	if t.kind == listenItem {
		return true
	}
	server := t.upstream.Name()
	switch t.kind {
	case toolItem:
		return who.MayCall(g.opening.Schema, server, t.name, t.item != nil && t.item.ReadOnly())
	case taskItem:
		return g.opening.seesServer(server) && g.gw.tasks.Belong(g.taskKey(t), who)
	case methodItem:
		// What such a method does is not known.
		return g.opening.seesOther(server, "") && !who.ReadOnly
	}
	return g.opening.seesOther(server, t.name)
}

// isPresent stops calls to a server that is switched off, or waits for a
// person's approval.
func (g *guard) isPresent(_ context.Context, c *Call, t *target) error {
	if t.upstream != nil && t.upstream.Absent() {
		return g.notFound(c)
	}
	return nil
}

// isListed holds the item against the lists of the configuration: what is
// enabled, allowed and denied.
func (g *guard) isListed(_ context.Context, c *Call, t *target) error {
	if t.upstream == nil || t.kind > resourceItem {
		return nil
	}
	if !g.look().All.Lists(t.upstream.Name(), t.kind.of(), t.name) {
		return g.notFound(c)
	}
	return nil
}

// isUnchanged stops calls to an item whose definition is held back.
func (g *guard) isUnchanged(_ context.Context, c *Call, t *target) error {
	if t.upstream == nil || t.kind > promptItem {
		return nil
	}
	if t.upstream.Withheld(c.client.caller, t.kind.of(), t.name) {
		return g.notFound(c)
	}
	return nil
}

// withinRate counts what is asked of servers: tools, prompts, resources. To ask
// for a task, or to subscribe, is part of what was decided or stays open.
func (g *guard) withinRate(_ context.Context, c *Call, t *target) error {
	if t.upstream == nil || t.kind > resourceItem && t.kind != methodItem || c.Method == mcp.MethodSubscribe {
		return nil
	}
	err := g.gw.rates.Admit(&g.gw.config().Limits, g.opening.counted(t))
	if err != nil {
		g.gw.opt.Hits.Add("callsPerMinute")
	}
	return err
}

// makesProgress stops a tool that is called again and again for nothing.
func (g *guard) makesProgress(_ context.Context, _ *Call, t *target) error {
	if t.upstream == nil || t.kind != toolItem {
		return nil
	}
	err := g.gw.rates.Progress(&g.gw.config().Limits, g.opening.counted(t))
	if err != nil {
		g.gw.opt.Hits.Add("sameCall")
	}
	return err
}

// counted is a call as it counts for the rates.
func (o *Opening) counted(t *target) rate.Call {
	c := rate.Call{Who: &o.Who, Schema: o.Schema, Server: t.upstream.Config(), Arguments: t.arguments}
	if t.kind == toolItem {
		c.Tool = t.name
	}
	return c
}

// headersMatch holds the arguments that a tool wants mirrored as headers
// against the headers of the client's request.
func (g *guard) headersMatch(_ context.Context, c *Call, t *target) error {
	if g.opening.Header == nil || c.Via != g.opening.Via || t.kind != toolItem || t.item == nil {
		return nil
	}
	if fit := g.fit(mcp.Modern); fit != nil && !fit.Takes("x-mcp-header") {
		return nil
	}
	for _, p := range catalog.HeaderParams(t.item) {
		want, present := mcp.HeaderText(t.arguments, p.Path...)
		got := g.opening.Header.Values(mcp.ParamHeaderPrefix + p.Header)
		if !present && len(got) == 0 {
			continue
		}
		if len(got) != 1 || !present || !sameHeader(got[0], want) {
			return jsonrpc.Errorf(mcp.CodeHeaderMismatch, "header %s does not match argument %s", p.Header, strings.Join(p.Path, "."))
		}
	}
	return nil
}

func sameHeader(header, argument string) bool {
	text, ok := mcp.DecodeHeader(header)
	return ok && text == argument
}

// argumentsFit holds arguments against what the configuration and the schema of
// the tool allow, and adds those that the configuration sets: a person is asked
// about the call as it will be sent.
func (g *guard) argumentsFit(_ context.Context, c *Call, t *target) error {
	if t.kind != toolItem {
		return nil
	}
	if len(t.arguments) > 0 && t.arguments[0] != '{' {
		return jsonrpc.InvalidParams("arguments must be an object").WithData(map[string]string{"parameter": "arguments"})
	}
	if t.upstream == nil {
		return nil
	}
	ours := params.Ours(t.upstream.Config().Tools[t.name].Arguments)
	if err := ours.LeftOut(t.arguments); err != nil {
		return err
	}
	if err := params.Fit(t.item, t.arguments, t.upstream.Config().Validate, c.Via != g.opening.Via); err != nil {
		return err
	}
	t.params, t.arguments = ours.Complete(t.params, t.arguments)
	return nil
}

// An Approval is a call that runs only after a person's yes.
type Approval struct {
	// Who wants it. Another principal has to say yes.
	Who          access.Principal
	Server, Tool string
	// Client and Session are the principal's.
	Client, Session string
	Arguments       json.RawMessage
	// Code is the script that makes the call; empty for none.
	Code string
}

// personAgrees puts a call to a person where the configuration wants that, or
// where it would take something of a person's away.
func (g *guard) personAgrees(ctx context.Context, c *Call, t *target) error {
	if t.own != nil && t.own.Removes != nil {
		return g.removalAgreed(ctx, c, t)
	}
	if t.upstream == nil || t.kind != toolItem {
		return nil
	}
	tools := t.upstream.Config().Tools
	if len(tools) == 0 || !tools[t.name].Ask {
		return nil
	}
	a := g.approval(t.upstream.Name(), t.name, t)
	a.Code = scripts.Code(ctx)
	// A yes for a script is one to this entry: another server of the same name is
	// asked about again.
	yes := scripts.Agreed(ctx, a.Server+" "+t.upstream.Config().Hash(), a.Tool, func(ctx context.Context) traffic.Yes { return g.gw.approve(ctx, a) })
	if yes != (traffic.Yes{}) {
		traced(ctx).agreed(yes)
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return mcp.Failure(mcp.PolicyDenied, t.upstream.Name(), "this call needs a person's yes, and nobody gave it")
}

// approve puts a call to a person, where there is one.
func (g *Gateway) approve(ctx context.Context, a Approval) traffic.Yes {
	if g.opt.Approve == nil {
		return traffic.Yes{}
	}
	return g.opt.Approve(ctx, a)
}

func (g *guard) approval(server, tool string, t *target) Approval {
	return Approval{Who: g.opening.Who, Server: server, Tool: tool, Client: g.clientName(), Session: g.caller.Session, Arguments: t.arguments}
}

// removalAgreed asks before servers of a person's are removed: the person at the
// client, or at the console where the client cannot ask.
func (g *guard) removalAgreed(ctx context.Context, c *Call, t *target) error {
	ids := t.own.Removes(t.arguments)
	if len(ids) == 0 {
		return nil
	}
	yes := traffic.Yes{By: g.opening.Who.ID, Door: traffic.ByElicitation}
	switch agreed, asked := g.opening.asker(c.client).Removal(ctx, ids); {
	case !asked:
		yes = g.gw.approve(ctx, g.approval("mcp-all-in-one", t.own.Name, t))
	case !agreed:
		yes = traffic.Yes{}
	}
	switch {
	case yes != traffic.Yes{}:
		traced(ctx).agreed(yes)
		t.agreed = ids
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return mcp.Failure(mcp.PolicyDenied, "", "removing "+strings.Join(ids, ", ")+
		` needs a person's yes, and nobody gave it; a person removes a server with "mcp-all-in-one remove NAME" or in the console`)
}
