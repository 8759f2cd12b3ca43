package scripts

import (
	"context"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/script"
)

// A Request is a request of a script. If the script names the server
// separately, Server is set and Target is the server's own name.
type Request struct {
	Method, Server, Target string
	Params                 []byte
}

// Limits returns the configured limits of scripts.
func Limits(c *config.Scripts) script.Limits {
	return script.Limits{Memory: c.Memory, CPU: c.CPU, Timeout: c.Timeout, Calls: c.Calls, Parallel: c.Parallel, Output: c.Output, Log: c.Log, Code: c.Code}
}

// Bind lets a script make requests with do. Each request gets meta, the raw
// _meta of the call that runs the script; nil for none. Bind returns the
// handler for the messages of the called servers; it passes them on to the
// client with to.
func Bind(env *builtin.Env, to jsonrpc.Handler, meta []byte, do func(context.Context, Request) (*jsonrpc.Response, error)) *Back {
	back := &Back{Handler: to}
	if token := jsonrpc.Get(meta, "progressToken"); token != nil {
		env.Progress = progress(to, token)
		back.Progress = env.Progress
		meta = jsonrpc.Set(meta, []byte(`"script"`), "progressToken") // a token of the gateway, which never leaves it
	}
	send := func(ctx context.Context, r Request) (*jsonrpc.Response, error) {
		if meta != nil {
			r.Params = jsonrpc.Set(r.Params, meta, "_meta")
		}
		return do(ctx, r)
	}
	env.Call = func(ctx context.Context, server, tool string, arguments []byte) (*jsonrpc.Response, error) {
		params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(tool), "name")
		params = jsonrpc.Set(params, arguments, "arguments")
		return send(ctx, Request{Method: mcp.MethodToolsCall, Server: server, Target: tool, Params: params})
	}
	env.Read = func(ctx context.Context, uri string) (*jsonrpc.Response, error) {
		return send(ctx, Request{Method: mcp.MethodResourcesRead, Target: uri, Params: jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(uri), "uri")})
	}
	env.Prompt = func(ctx context.Context, server, name string, arguments []byte) (*jsonrpc.Response, error) {
		if server != "" {
			name = server + "__" + name
		}
		params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(name), "name")
		params = jsonrpc.Set(params, arguments, "arguments")
		return send(ctx, Request{Method: mcp.MethodPromptsGet, Target: name, Params: params})
	}
	ask := env.Ask
	env.Ask = func(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error) {
		defer whileAsked(ctx)()
		return ask(ctx, method, params)
	}
	return back
}
