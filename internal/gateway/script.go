package gateway

import (
	"context"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/gateway/scripts"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/script"
	"mcp-all-in-one/internal/traffic"
)

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
	meta := jsonrpc.Get(t.params, "_meta")
	token := jsonrpc.Get(meta, "progressToken")
	back := &scripts.Back{Handler: p.back}
	if token != nil {
		env.Progress = scripts.Progress(p.back, token)
		back.Progress = env.Progress
		meta = jsonrpc.Set(meta, []byte(`"script"`), "progressToken") // ours, which never leaves
	}
	p.back = back
	scripts.Bind(env, meta, func(ctx context.Context, r scripts.Request) (*jsonrpc.Response, error) {
		return d.Do(ctx, &Call{Via: via, Method: r.Method, Server: r.Server, Target: r.Target, Params: r.Params, client: p})
	})
	env.Limits = d.gw.scriptLimits()
	env.Script = func(ctx context.Context, job *script.Job, asked jsonrpc.Handler) (*script.Outcome, error) {
		return d.gw.scripts.Run(ctx, d.gw.opt.Scripts, d.opening.Who.ID, job, asked)
	}
	env.Saved = d.account.saved
}

// scriptLimits are the configuration's limits for scripts.
func (g *Gateway) scriptLimits() script.Limits {
	c := g.config().Scripts
	return script.Limits{Memory: c.Memory, CPU: c.CPU, Timeout: c.Timeout, Calls: c.Calls, Parallel: c.Parallel, Output: c.Output}
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
