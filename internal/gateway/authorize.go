package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/entry"
	"mcp-all-in-one/internal/gateway/params"
	"mcp-all-in-one/internal/gateway/pressure"
	"mcp-all-in-one/internal/gateway/scripts"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/rate"
	"mcp-all-in-one/internal/traffic"
)

// A decision lets a call to a target pass, or returns the error with which the
// call is refused. Decisions with peer run on the replica that runs the call;
// all others run once, on the replica that the client is connected to.
// Decisions with runs concern work for a server or a person; a rehearsed call
// skips them, because it makes no such work. Decisions with hides keep an item
// from the client altogether, also its updates; the others concern a new call.
type decision struct {
	name              string
	decide            func(*guard, context.Context, *Call, *target) error
	peer, runs, hides bool
}

// decisions are all checks before a call is sent, in order. A person is asked
// last, only about calls that pass all other checks.
var decisions = [...]decision{
	{"draining", (*guard).notDraining, true, false, false},
	{"pressure", (*guard).hasMemory, true, false, false},
	{"scope", (*guard).inScope, false, false, true},
	{"present", (*guard).isPresent, true, false, true},
	{"lists", (*guard).isListed, false, false, true},
	{"pin", (*guard).isUnchanged, false, false, true},
	// The checks above hide items. Those below say why, so they come later.
	{"claim", (*guard).keepsClaim, false, false, false},
	{"rate", (*guard).withinRate, false, true, false},
	{"headers", (*guard).headersMatch, false, false, false},
	{"arguments", (*guard).argumentsFit, false, false, false},
	{"repeat", (*guard).makesProgress, false, true, false},
	{"ask", (*guard).personAgrees, false, true, false},
}

// A guard authorizes the calls of one client.
type guard struct{ *viewer }

// authorize decides whether a call may run, or whether the client may hear of an
// update. No other function does.
func (g *guard) authorize(ctx context.Context, c *Call, t *target) error {
	rehearsed := g.opening.Rehearse != nil && t.kind == toolItem && t.upstream != nil
	for i := range decisions {
		d := &decisions[i]
		if g.opening.Peer && !d.peer || rehearsed && d.runs || c.Method == mcp.NotificationUpdated && !d.hides {
			continue
		}
		if err := d.decide(g, ctx, c, t); err != nil {
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

// hasMemory lets calls of our own tools pass: they can switch servers off.
func (g *guard) hasMemory(_ context.Context, _ *Call, t *target) error {
	if t.own == nil && g.gw.pressure.Level() >= pressure.RefuseCallsAt {
		return g.gw.shortOfMemory()
	}
	return nil
}

// inScope checks the target against the grant of the principal.
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
	if t.kind == answerItem { // the answer may cost money, and is no tool
		return !who.ReadOnly && len(who.Tools) == 0
	}
	if t.upstream == nil { // a subscription of the client, or a task of a script
		return t.kind == listenItem || g.gw.tasks.Belong(g.taskKey(t), who)
	}
	server := t.upstream.Name()
	switch t.kind {
	case toolItem:
		return who.MayCall(g.opening.Schema, server, t.name, t.readOnly())
	case taskItem:
		return g.opening.seesServer(server) && g.gw.tasks.Belong(g.taskKey(t), who)
	case methodItem:
		// The gateway does not know what such a method does.
		return g.opening.seesOther(server, "") && !who.ReadOnly
	}
	return g.opening.seesOther(server, t.name)
}

// isPresent refuses calls to a server that is off or waits for approval.
func (g *guard) isPresent(_ context.Context, c *Call, t *target) error {
	if t.upstream != nil && t.upstream.Absent() {
		return g.notFound(c)
	}
	return nil
}

// isListed checks the item against the enabled, allowed and denied lists.
func (g *guard) isListed(_ context.Context, c *Call, t *target) error {
	if t.upstream == nil || t.kind > resourceItem {
		return nil
	}
	if !g.look().All.Lists(t.upstream.Name(), t.kind.of(), t.name) {
		return g.notFound(c)
	}
	return nil
}

// isUnchanged refuses calls to an item whose changed definition is held back.
func (g *guard) isUnchanged(_ context.Context, c *Call, t *target) error {
	if t.upstream == nil || t.kind > promptItem {
		return nil
	}
	if t.upstream.Withheld(c.client.caller, t.kind.of(), t.name) {
		return g.notFound(c)
	}
	return nil
}

// keepsClaim refuses a call that may change something if the script that makes
// it claims to be read-only: clients call such a script without asking.
func (g *guard) keepsClaim(ctx context.Context, c *Call, t *target) error {
	if scripts.MayWrite(ctx) || t.kind != toolItem && t.kind != methodItem || t.readOnly() {
		return nil
	}
	return mcp.Failure(mcp.PolicyDenied, c.Server, fmt.Sprintf(
		"the script has \"readOnly\", and the tool '%s' of server '%s' does not say that it is read-only; a script that has to call it must not have \"readOnly\" in its entry", t.name, c.Server))
}

// withinRate counts calls of tools, prompts, resources and foreign methods, and
// the answers of the gateway itself.
// Requests about tasks are not counted: they belong to a call that was counted.
// Subscriptions are not counted either: they stay open.
func (g *guard) withinRate(_ context.Context, c *Call, t *target) error {
	counts := t.upstream != nil && (t.kind <= resourceItem || t.kind == methodItem) && c.Method != mcp.MethodSubscribe
	if !counts && t.kind != answerItem {
		return nil
	}
	err := g.gw.rates.Admit(&g.gw.config().Limits, g.opening.counted(t))
	if err != nil {
		g.gw.opt.Hits.Add("callsPerMinute")
	}
	return err
}

// makesProgress refuses a tool call that is repeated without progress.
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

// noServer stands for the server of what the gateway answers itself.
var noServer config.Server

// counted returns the call as package rate counts it.
func (o *Opening) counted(t *target) rate.Call {
	c := rate.Call{Who: &o.Who, Schema: o.Schema, Server: &noServer, Arguments: t.arguments}
	if t.upstream != nil {
		c.Server = t.upstream.Config()
	}
	if t.kind == toolItem {
		c.Tool = t.name
	}
	return c
}

// headersMatch checks the arguments that the tool wants mirrored as headers
// against the headers of the client's request.
func (g *guard) headersMatch(_ context.Context, c *Call, t *target) error {
	if g.opening.Header == nil || c.Via != g.opening.Via || t.kind != toolItem || t.item == nil {
		return nil
	}
	if fit := g.fit(mcp.Modern); fit != nil && !fit.Takes("x-mcp-header") {
		return nil
	}
	return params.HeadersMatch(t.item, t.arguments, g.opening.Header)
}

// argumentsFit checks the arguments against the configuration and the schema of
// the tool, and adds the arguments that the configuration sets. It runs before
// personAgrees, so that the person sees the call as it will be sent.
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

// An Approval is a call that runs only after a person has approved it.
type Approval struct {
	// Who makes the call. Another principal has to approve it.
	Who access.Principal
	// Schema is empty if the call is not for a server.
	Schema, Server, Tool string
	// Client and Session of the principal.
	Client, Session string
	Arguments       json.RawMessage
	// Code is the script that makes the call; empty for none.
	Code string
}

// personAgrees asks a person to approve a call if the configuration requires
// that, or if the call removes servers of a person.
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
	a.Schema, a.Code = g.opening.Schema, scripts.Code(ctx)
	// The approval of a script is valid for this entry of the configuration.
	// For another server with the same name, the person is asked again.
	yes := scripts.Agreed(ctx, a.Server+" "+t.upstream.Config().Hash(), a.Tool, func(ctx context.Context) traffic.Yes { return g.gw.approve(ctx, a) })
	if yes != (traffic.Yes{}) {
		entry.Traced(ctx).Agreed(yes)
		return nil
	}
	if err := g.gw.unasked(ctx); err != nil {
		return err
	}
	return mcp.Failure(mcp.PolicyDenied, t.upstream.Name(), "this call needs a person's approval, and no person approved it")
}

// approve asks a person to approve a call, if the gateway can ask one.
func (g *Gateway) approve(ctx context.Context, a Approval) traffic.Yes {
	if g.opt.Approve == nil {
		return traffic.Yes{}
	}
	ctx, end := untilStop(ctx, g)
	defer end()
	return g.opt.Approve(ctx, a)
}

// untilStop returns the context of a question of the gateway itself. It ends when
// the process is about to end: nothing has been sent to a server, so the call need
// not be waited for.
func untilStop(ctx context.Context, g *Gateway) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.stopping, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// unasked returns the error of a call whose question to a person ended without
// an answer; nil if a person had time to answer.
func (g *Gateway) unasked(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case g.stopping.Err() != nil:
		return mcp.ShutsDown()
	}
	return nil
}

func (g *guard) approval(server, tool string, t *target) Approval {
	return Approval{Who: g.opening.Who, Server: server, Tool: tool, Client: g.clientName(), Session: g.caller.Session, Arguments: t.arguments}
}

// removalAgreed asks before a call removes servers of a person. The person is
// asked at the client, or in the console if the client cannot ask.
func (g *guard) removalAgreed(ctx context.Context, c *Call, t *target) error {
	ids := t.own.Removes(t.arguments)
	if len(ids) == 0 {
		return nil
	}
	yes := traffic.Yes{By: g.opening.Who.ID, Door: traffic.ByElicitation}
	switch agreed, asked := asker(g.gw, &g.opening, c.client).Removal(ctx, ids); {
	case !asked:
		yes = g.gw.approve(ctx, g.approval("mcp-all-in-one", t.own.Name, t))
	case !agreed:
		yes = traffic.Yes{}
	}
	if yes != (traffic.Yes{}) {
		entry.Traced(ctx).Agreed(yes)
		t.agreed = ids
		return nil
	}
	if err := g.gw.unasked(ctx); err != nil {
		return err
	}
	return mcp.Failure(mcp.PolicyDenied, "", "removing "+strings.Join(ids, ", ")+
		` needs a person's approval, and no person approved it; a person can remove a server with "mcp-all-in-one remove NAME" or in the console`)
}
