package gateway

import (
	"context"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/scripts"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/script"
	"mcp-all-in-one/internal/traffic"
)

// run runs one of our own tools, or a script of the configuration.
func (d *dispatcher) run(ctx context.Context, c *Call, t *target, own *builtin.Tool) (*jsonrpc.Response, error) {
	if t.stored != nil {
		d = d.whole()
		if t.readOnly() {
			ctx = scripts.Reading(ctx)
		}
	}
	if own.Compact {
		// The tool uses the servers. The tools for the configuration do not
		// wait: they are needed when a server hangs.
		d.startup.awaitAll(ctx)
	}
	resp, err := own.Run(ctx, d.env(c, t, own), t.arguments)
	if err == nil && resp.Err == nil {
		if t.own != nil {
			d.account.inspected(own.Name, resp.Result)
		}
		if own.Reader {
			d.account.readBack(resp.Result)
		}
		if c.client.rules.Era == mcp.Legacy && own.Script {
			resp.Result = catalog.DownlevelResult(c.client.rules.Date, resp.Result, false)
		}
	}
	return resp, err
}

// env returns what one of our own tools may use on behalf of a call.
func (d *dispatcher) env(c *Call, t *target, own *builtin.Tool) *builtin.Env {
	p := c.client
	env := &builtin.Env{
		Principal: d.opening.Who.ID, Agreed: t.agreed,
		Kept:      d.large.get,
		ReadLimit: d.resultRules().ReadLimit(), JQ: d.gw.opt.Scripts.Filter,
		Catalog: func() *catalog.Catalog { return d.look().All }, Visible: d.visible(),
		Call: func(ctx context.Context, server, tool string, arguments []byte) (*jsonrpc.Response, error) {
			params := jsonrpc.Set(t.params, jsonrpc.Quote(tool), "name")
			params = jsonrpc.Set(params, arguments, "arguments")
			return d.Do(ctx, &Call{Via: traffic.DoorExec, Method: mcp.MethodToolsCall, Server: server, Target: tool, Params: params, client: p})
		},
		Ask: asker(d.gw, &d.opening, p), OpensURL: p.caller.Offer.For(p.rules).ElicitURL,
	}
	if own.Script {
		d.scriptEnv(env, c, t)
	}
	return env
}

// asker asks the client of a call, if the client supports that.
func asker(g *Gateway, o *Opening, p requestClient) builtin.Asker {
	return func(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error) {
		if !p.caller.Offer.Allows(method, params) || o.Via == traffic.DoorConsole {
			// On the Bench, the caller would approve its own call.
			return nil, jsonrpc.MethodNotFound(method, "the client does not offer this")
		}
		ctx, end := untilStop(ctx, g)
		defer end()
		return p.back.Handle(ctx, nil, &jsonrpc.Request{Method: method, Params: params})
	}
}

// scriptEnv adds to env what a script may use on behalf of a call of run. Every
// request of the script goes through Do, through the door of scripts.
func (d *dispatcher) scriptEnv(env *builtin.Env, c *Call, t *target) {
	env.Keep = func(text []byte) (string, error) {
		return d.gw.Kept.Put(d.opening.keeper(), kept.Result{Data: text, From: t.from()})
	}
	p := c.client
	if p.caller.Era == mcp.Modern {
		// The client answers a server's questions while the script waits,
		// because a script never runs twice.
		p.caller = p.caller.WithoutSession()
		p.caller.Rounds = true
	}
	via := traffic.DoorRun
	if d.opening.Via == traffic.DoorCLI {
		via = traffic.DoorScript
	}
	p.back = scripts.Bind(env, p.back, jsonrpc.Get(t.params, "_meta"), func(ctx context.Context, r scripts.Request) (*jsonrpc.Response, error) {
		return d.Do(ctx, &Call{Via: via, Method: r.Method, Server: r.Server, Target: r.Target, Params: r.Params, client: p})
	})
	env.Limits, env.Inner = scripts.Limits(&d.gw.config().Scripts), c.Via == via
	env.Script = func(ctx context.Context, job *script.Job, asked jsonrpc.Handler) (*script.Outcome, error) {
		return d.gw.scripts.Run(ctx, d.gw.opt.Scripts, d.opening.Who.ID, job, asked)
	}
	env.Saved, env.Await = d.account.saved, d.finder.missing
}

// whole returns a dispatcher for the calls of a script. A script may call all
// servers of the schema, even if the client addressed a single server.
func (d *dispatcher) whole() *dispatcher {
	if d.opening.Server == "" {
		return d
	}
	w := new(dispatcher)
	w.connect()
	w.gw, w.opening, w.scope, w.opened, w.rules, w.seed, w.caller = d.gw, d.opening, d.scope, d.opened, d.rules, d.seed, d.caller
	w.opening.Server = ""
	w.name.Store(d.name.Load())
	return w
}

// keeper returns the owner of the kept results of this session.
func (o *Opening) keeper() kept.Owner {
	return kept.Owner{Principal: o.Who.ID, Schema: o.Schema, Rights: o.Who.Rights()}
}

// isScript reports whether name is the tool with which the command line and
// test files run scripts, in every mode.
func (o *Opening) isScript(name string) bool {
	return name == builtin.ScriptName && (o.Via == traffic.DoorCLI || o.Via == traffic.DoorConsole)
}
