package gateway

import (
	"bytes"
	"cmp"
	"context"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/params"
	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/gateway/results"
	"mcp-all-in-one/internal/gateway/start"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/weight"
)

// A finder finds the targets of the calls of one client.
type finder struct {
	*viewer
	startup *startup
}

// tool finds the tool that a call names.
func (f *finder) tool(ctx context.Context, c *Call) (*target, error) {
	call := params.ReadToolCall(c.Params)
	if c.Server == "" {
		c.Target = call.Name
	}
	if c.Target == "" {
		return nil, jsonrpc.InvalidParams("name must be a string").WithData(map[string]string{"parameter": "name"})
	}
	if err := params.CheckToken(jsonrpc.Get(call.Meta, "progressToken")); err != nil {
		return nil, err
	}
	t := &target{kind: toolItem, params: c.Params, arguments: call.Arguments}
	if len(t.arguments) > 0 && t.arguments[0] == 'n' {
		// Some clients send null for an absent map, and some servers refuse it.
		t.params, t.arguments = jsonrpc.Set(t.params, nil, "arguments"), nil
	}
	if c.client.rules.Era == mcp.Legacy && c.client.rules.SampleTools && call.Task != nil {
		if err := params.CheckTask(call.Task); err != nil {
			return nil, err
		}
		if call.Task[0] == 'n' {
			t.params = jsonrpc.Set(t.params, nil, "task")
		}
	}
	ref, err := f.findTool(ctx, c)
	if err != nil {
		return nil, err
	}
	t.name, t.item = ref.Name, ref.Item
	if ref.Server == builtin.Server {
		if t.own = f.ownTool(ref.Name); t.own == nil {
			return nil, f.notFound(c)
		}
		return t, nil
	}
	if t.upstream = f.upstream(ref.Server); t.upstream == nil {
		return nil, f.notFound(c)
	}
	if script, ok := t.upstream.Config().Scripts[ref.Name]; ok {
		t.stored = builtin.Stored(ref.Name, script)
	}
	if ref.Name != call.Name {
		t.params = jsonrpc.Set(t.params, jsonrpc.Quote(ref.Name), "name")
		if c.client.rules.Era == mcp.Modern && len(t.params) >= weight.Large {
			// The call may wait for its client. Keep one copy only.
			c.Params, t.arguments = t.params, params.ReadToolCall(t.params).Arguments
		}
	}
	return t, nil
}

// findTool finds a tool by the name that the caller used. If the name belongs
// to a server that is still starting, findTool waits for that server only.
func (f *finder) findTool(ctx context.Context, c *Call) (catalog.Ref, error) {
	find := func() (catalog.Ref, *catalog.Miss) { return f.toolFor(c.Target) }
	if c.Server != "" {
		find = func() (catalog.Ref, *catalog.Miss) { return f.look().All.ToolOf(c.Server, c.Target, f.visible()) }
	}
	ref, miss := find()
	if miss != nil && c.Server == "" {
		ref, miss = f.shortened(c.client, c.Target, miss)
	}
	if miss == nil {
		return ref, nil
	}
	if err := f.missing(ctx, miss); err != nil {
		return ref, err
	}
	if ref, miss = find(); miss != nil {
		return ref, refusal.NoTool(c.Target, miss, f.seed && c.client.rules.Era == mcp.Legacy)
	}
	return ref, nil
}

// toolFor finds a tool among those that the client is shown. In auto mode the
// names of the other modes are valid too: the chosen mode may have changed
// since the client saw a list.
func (f *finder) toolFor(name string) (catalog.Ref, *catalog.Miss) {
	if f.opening.isScript(name) {
		return catalog.Ref{Server: builtin.Server, Name: name}, nil
	}
	v := f.look()
	ref, miss := v.Shown.ToolFor(name, f.visible())
	if miss == nil || v.Choice.Mode == "" {
		return ref, miss
	}
	if v.Compact.Tool(name) != nil {
		return catalog.Ref{Server: builtin.Server, Name: name}, nil
	}
	return v.All.ToolFor(name, f.visible())
}

// missing handles a name that was not found. It waits for the server that the
// name points to, or for all servers if it points to none. If that server
// cannot be reached, missing returns the reason, if it is known.
func (f *finder) missing(ctx context.Context, miss *catalog.Miss) error {
	if miss.Kind == catalog.Ambiguous {
		return nil
	}
	if miss.Server == "" {
		f.startup.awaitAll(ctx)
		return nil
	}
	u := f.upstream(miss.Server)
	if u == nil {
		return nil
	}
	start.Await(ctx, u, f.gw.config().Limits.Handshake)
	soon, cancel := context.WithTimeout(ctx, maxHello)
	lacks := u.Prepare(soon, f.caller) // the server may list more to a client with these capabilities
	cancel()
	if miss.Kind != catalog.ServerDown || u.Features(f.caller) != nil {
		return nil
	}
	return cmp.Or(lacks, u.Refused(f.caller), u.Unavailable())
}

// prompt finds the prompt that a call names. The server checks the arguments.
// An empty map is left out, because some servers treat it as missing arguments.
func (f *finder) prompt(ctx context.Context, c *Call) (*target, error) {
	name, ok := jsonrpc.GetString(c.Params, "name")
	if !ok || name == "" {
		return nil, jsonrpc.InvalidParams("name must be a string").WithData(map[string]string{"parameter": "name"})
	}
	if err := params.CheckMeta(c.Params); err != nil {
		return nil, err
	}
	c.Target = name
	ref, miss := f.look().All.PromptFor(name, f.readable())
	if miss != nil {
		if err := f.missing(ctx, miss); err != nil {
			return nil, err
		}
		if ref, miss = f.look().All.PromptFor(name, f.readable()); miss != nil {
			return nil, refusal.NoPrompt(name, miss)
		}
	}
	t := &target{kind: promptItem, upstream: f.upstream(ref.Server), name: ref.Name, item: ref.Item, params: c.Params}
	if t.upstream == nil {
		return nil, f.notFound(c)
	}
	if ref.Name != name {
		t.params = jsonrpc.Set(t.params, jsonrpc.Quote(ref.Name), "name")
	}
	if args := jsonrpc.Get(t.params, "arguments"); args != nil && params.IsEmpty(args) {
		t.params = jsonrpc.Set(t.params, nil, "arguments")
	}
	return t, nil
}

// completion finds the prompt or template whose argument a call completes.
func (f *finder) completion(ctx context.Context, c *Call) (*target, error) {
	ref := jsonrpc.Get(c.Params, "ref")
	kind, _ := jsonrpc.GetString(c.Params, "ref", "type")
	t, member := &target{params: c.Params}, "name"
	switch kind {
	case "ref/prompt":
		t.kind = promptItem
	case "ref/resource":
		t.kind, member = resourceItem, "uri"
	default:
		return nil, jsonrpc.InvalidParams("ref must be a ref/prompt or a ref/resource")
	}
	c.Target, _ = jsonrpc.GetString(ref, member)
	if arg := jsonrpc.Get(c.Params, "argument"); len(arg) == 0 || arg[0] != '{' {
		return nil, jsonrpc.InvalidParams("argument must be an object")
	}
	server, own, miss := f.look().All.CompletionFor(ref, f.readable())
	if miss != nil {
		if err := f.missing(ctx, miss); err != nil {
			return nil, err
		}
		server, own, miss = f.look().All.CompletionFor(ref, f.readable())
	}
	if t.upstream = f.upstream(server); miss != nil || t.upstream == nil {
		if kind == "ref/prompt" {
			return nil, refusal.NoPrompt(c.Target, orMiss(miss))
		}
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Resource '%s' not found", refusal.Clip(c.Target))
	}
	t.name, _ = jsonrpc.GetString(own, member)
	if !bytes.Equal(own, ref) {
		t.params = jsonrpc.Set(t.params, own, "ref")
	}
	return t, nil
}

func orMiss(m *catalog.Miss) *catalog.Miss {
	if m == nil {
		return &catalog.Miss{}
	}
	return m
}

// method finds the only server that a method outside the protocol can be meant
// for: the addressed server, or the only one that declares extensions.
func (f *finder) method(c *Call) (*target, error) {
	if !params.IsForeign(c.Method) {
		return nil, f.notFound(c)
	}
	var found *upstream.Upstream
	for _, u := range f.upstreams() {
		if f := u.Features(f.caller); !f.Offers("extensions") && !f.Offers("experimental") {
			continue
		}
		if found != nil {
			return nil, f.notFound(c)
		}
		found = u
	}
	if found == nil {
		return nil, f.notFound(c)
	}
	return &target{kind: methodItem, upstream: found, name: c.Method, params: c.Params}, nil
}

// shortened finds a tool by the name that a client with a fit was shown.
func (f *finder) shortened(p requestClient, name string, miss *catalog.Miss) (catalog.Ref, *catalog.Miss) {
	fit := f.fit(p.rules.Era)
	if fit == nil {
		return catalog.Ref{}, miss
	}
	ref, stillMissing := f.look().Shown.ToolFitting(fit, name, f.visible())
	if stillMissing != nil {
		return catalog.Ref{}, miss
	}
	return ref, nil
}

// ownTool returns the gateway's own tool of that name, or nil.
func (f *finder) ownTool(name string) *builtin.Tool {
	if f.opening.isScript(name) {
		return &builtin.ScriptTool
	}
	if name == results.ReaderName && f.reads() {
		return &results.Reader
	}
	if tool := f.look().Compact.Tool(name); tool != nil {
		return tool
	}
	return f.gw.opt.Own.Tool(name)
}
