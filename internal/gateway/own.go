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
	}
	if own.Compact {
		// It is about the servers. The tools that look after the configuration
		// are the way out when one of them hangs.
		d.startup.settle(ctx)
	}
	resp, err := own.Run(ctx, d.env(c, t, own), t.arguments)
	if err == nil && resp.Err == nil {
		if t.own != nil {
			d.account.inspected(own.Name, resp.Result)
		}
		if c.client.rules.Era == mcp.Legacy && own.Script {
			resp.Result = catalog.DownlevelResult(c.client.rules.Date, resp.Result, false)
		}
	}
	return resp, err
}

// env is what a tool of ours may reach on behalf of a call.
func (d *dispatcher) env(c *Call, t *target, own *builtin.Tool) *builtin.Env {
	p := c.client
	env := &builtin.Env{
		Principal: d.opening.Who.ID, Agreed: t.agreed,
		Keep:      func(text []byte) (string, error) { return d.gw.kept.Put(d.opening.keeper(), kept.Result{Data: text}) },
		Kept:      d.shelf.get,
		ReadLimit: d.resultRules().ReadLimit(), JQ: d.gw.opt.Scripts.Filter,
		Catalog: func() *catalog.Catalog { return d.look().All }, Visible: d.visible(),
		Call: func(ctx context.Context, server, tool string, arguments []byte) (*jsonrpc.Response, error) {
			params := jsonrpc.Set(t.params, jsonrpc.Quote(tool), "name")
			params = jsonrpc.Set(params, arguments, "arguments")
			return d.Do(ctx, &Call{Via: traffic.DoorExec, Method: mcp.MethodToolsCall, Server: server, Target: tool, Params: params, client: p})
		},
		Ask: d.opening.asker(p), OpensURL: p.caller.Offer.For(p.rules).ElicitURL,
	}
	if own.Script {
		d.scriptEnv(env, c, t)
	}
	return env
}

// asker asks the client of a call, where it offers that.
func (o *Opening) asker(p party) builtin.Asker {
	return func(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error) {
		if !p.caller.Offer.Allows(method, params) || o.Via == traffic.DoorConsole {
			// On the Bench the answer would come from the principal that
			// asked for what has to be allowed.
			return nil, jsonrpc.MethodNotFound(method, "the client does not offer this")
		}
		return p.back.Handle(ctx, nil, &jsonrpc.Request{Method: method, Params: params})
	}
}

// scriptEnv adds to an environment what a script may reach on behalf of a call
// of run. Every request of it comes through Do, by a door of its own.
func (d *dispatcher) scriptEnv(env *builtin.Env, c *Call, t *target) {
	p := c.client
	if p.caller.Era == mcp.Modern {
		// A server's questions are answered while the script waits: a script
		// is never run again.
		p.caller = p.caller.Again()
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
	env.Saved = d.account.saved
}

// whole makes the calls of a script, which are to all servers of the schema, also
// where the client addressed one of them alone.
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

// keeper is whose the kept results of this session are.
func (o *Opening) keeper() kept.Owner {
	return kept.Owner{Principal: o.Who.ID, Schema: o.Schema}
}

// isScript says whether a name is the tool by which the command line and test
// files run scripts, whatever the mode.
func (o *Opening) isScript(name string) bool {
	return name == builtin.ScriptName && (o.Via == traffic.DoorCLI || o.Via == traffic.DoorConsole)
}
