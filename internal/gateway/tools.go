package gateway

import (
	"context"
	"errors"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// callTool routes one tools/call.
func (s *Session) callTool(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	p := s.plain(ctx, from)
	resp, err := s.runTool(ctx, p, req)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	resp.Result = s.finishTool(resp.Result)
	return resp, nil
}

// A party is the client of one request: on whose behalf servers are called and
// who answers what they ask.
type party struct {
	caller *upstream.Caller
	back   jsonrpc.Handler
	rules  mcp.Version
}

// plain is the party of a request of a legacy session.
func (s *Session) plain(ctx context.Context, from jsonrpc.Peer) party {
	p := party{caller: s.caller, rules: s.rules}
	if t := traced(ctx); t != nil {
		p.back = &t.back
	} else {
		p.back = &back{s: s, from: from}
	}
	return p
}

// runTool finds the tool, checks the arguments and calls the server.
func (s *Session) runTool(ctx context.Context, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	c := readToolCall(req.Params)
	if c.name == "" {
		return nil, invalidParams("name must be a string").WithData(map[string]string{"parameter": "name"})
	}
	if err := checkToken(jsonrpc.Get(c.meta, "progressToken")); err != nil {
		return nil, err
	}
	params := req.Params
	if len(c.arguments) > 0 && c.arguments[0] == 'n' {
		// Some clients write an absent map so, and some servers refuse it.
		params, c.arguments = jsonrpc.Set(params, nil, "arguments"), nil
	}
	ref, u, err := s.findTool(ctx, p, c.name)
	if err != nil {
		return nil, err
	}
	if ref.Server == builtin.Server {
		return s.runOwn(ctx, p, ref.Name, &jsonrpc.Request{Method: req.Method, Params: params, Back: req.Back})
	}
	if resp, err := checkArguments(u, ref.Item, c.arguments, p.rules); resp != nil || err != nil {
		return resp, err
	}
	if err := s.ask(ctx, u, &ref, c.arguments); err != nil {
		return nil, err
	}
	if ref.Name != c.name {
		params = jsonrpc.Set(params, jsonrpc.Quote(ref.Name), "name")
	}
	return s.perform(ctx, p, u, ref.Item, &jsonrpc.Request{Method: req.Method, Params: params, Back: p.back})
}

// A toolCall is what we read of the params of tools/call.
type toolCall struct {
	name            string // empty when it is no text
	arguments, meta []byte // raw, nil when absent
}

// readToolCall reads params in one pass: they may be large.
func readToolCall(params []byte) (c toolCall) {
	for key, value := range jsonrpc.Members(params) {
		switch key {
		case "name":
			c.name, _ = jsonrpc.Text(value)
		case "arguments":
			c.arguments = value
		case "_meta":
			c.meta = value
		}
	}
	return c
}

// send calls a server and makes its answer one for this client.
func (s *Session) send(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	tasks := hasTasks(u.Features(p.caller))
	if tasks && req.Back != nil {
		req.Back = taskBack{req.Back, s, u.Name()}
	}
	resp, err := s.call(ctx, p, u, req)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	s.adapt(p.rules, u, resp)
	if tasks {
		resp.Result = s.nameTasks(u.Name(), resp.Result)
	}
	return resp, nil
}

// adapt makes the answer of a server one for this client: URIs have the names
// that clients know, and content is what its version knows.
func (s *Session) adapt(rules mcp.Version, u *upstream.Upstream, resp *jsonrpc.Response) {
	resp.Result = s.look().all.RewriteURIs(u.Name(), resp.Result)
	if rules.Era == mcp.Legacy && !understands(rules, u.Protocol()) {
		resp.Result = catalog.DownlevelResult(rules.Date, resp.Result, resp.Owned())
	}
}

// understands says whether a client can read whatever a server of that version
// answers. Its answers then pass unread. For a client without the newer kinds of
// content they never do: servers agree to an old version in the handshake and
// answer with what their tools always answered with.
func understands(client mcp.Version, version string) bool {
	server, known := mcp.Lookup(version)
	return known && server.Era == client.Era && client.Audio && client.Links
}

// findTool finds a tool and its server. A name of a server that is still
// starting waits for that server alone.
func (s *Session) findTool(ctx context.Context, p party, name string) (catalog.Ref, *upstream.Upstream, error) {
	seed := s.seed && p.rules.Era == mcp.Legacy // a modern client never speaks it
	ref, miss := s.toolFor(name)
	if miss != nil {
		ref, miss = s.shortened(p, name, miss)
	}
	if miss != nil {
		if err := s.missing(ctx, miss); err != nil {
			return ref, nil, err
		}
		if ref, miss = s.toolFor(name); miss != nil {
			return ref, nil, noTool(name, miss, seed)
		}
	}
	if ref.Server == builtin.Server {
		return ref, nil, nil
	}
	u := s.upstream(ref.Server)
	if u == nil {
		return ref, nil, noTool(name, &catalog.Miss{}, seed)
	}
	return ref, u, nil
}

// toolFor finds a tool among what the client is shown. Where the mode is ours
// to choose, the names of the other modes count too: the choice may have
// changed since the client saw a list.
func (s *Session) toolFor(name string) (catalog.Ref, *catalog.Miss) {
	v := s.look()
	ref, miss := v.shown.ToolFor(name, s.visible())
	if miss == nil || v.choice.mode == "" {
		return ref, miss
	}
	if v.compact.Tool(name) != nil {
		return catalog.Ref{Server: builtin.Server, Name: name}, nil
	}
	return v.all.ToolFor(name, s.visible())
}

// missing deals with a name that leads nowhere yet: it waits for the server
// that it points at, or for all where it points at none, and returns why that
// server cannot be had where that is known.
func (s *Session) missing(ctx context.Context, miss *catalog.Miss) error {
	if miss.Kind == catalog.Ambiguous {
		return nil
	}
	if miss.Server == "" {
		s.settle(ctx)
		return nil
	}
	u := s.upstream(miss.Server)
	if u == nil {
		return nil
	}
	awaitServer(ctx, u, s.gw.config().Limits.Handshake)
	if miss.Kind != catalog.ServerDown || u.Features(s.caller) != nil {
		return nil
	}
	if err := u.Refused(); err != nil {
		return err
	}
	return u.Unavailable()
}

// checkArguments checks what can be checked before anything is sent. Clients
// of versions that ask for it get a tool error, which their model can read.
func checkArguments(u *upstream.Upstream, item *catalog.Item, args []byte, rules mcp.Version) (*jsonrpc.Response, error) {
	if len(args) > 0 && args[0] != '{' {
		return nil, invalidParams("arguments must be an object").WithData(map[string]string{"parameter": "arguments"})
	}
	mode := u.Config().Validate
	if item == nil || mode == "off" {
		return nil, nil
	}
	var bad *jsonrpc.Error
	switch {
	case args == nil && len(item.Required) > 0:
		bad = jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid params").
			WithData(map[string]string{"details": "Missing required parameter: arguments"})
	case args != nil:
		if name, missing := item.MissingRequired(args); missing {
			bad = jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid params: Missing required parameter '%s'", name).
				WithData(map[string]string{"parameter": name})
		} else if mode == "full" {
			bad = violation(item, args)
		}
	}
	if bad == nil {
		return nil, nil
	}
	if rules.ToolErrors {
		return &jsonrpc.Response{Result: toolError(errorText(bad))}, nil
	}
	return nil, bad
}

func errorText(e *jsonrpc.Error) string {
	if details, ok := jsonrpc.GetString(e.Data, "details"); ok {
		return e.Message + ": " + details
	}
	return e.Message
}

func violation(item *catalog.Item, args []byte) *jsonrpc.Error {
	violations := item.Validate(args)
	if len(violations) == 0 {
		return nil
	}
	v := violations[0]
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid params: %s", v.Message).
		WithData(map[string]any{"parameter": v.Path, "violations": violations})
}

// toolError is a result that tells the model what went wrong.
func toolError(text string) []byte {
	b := append([]byte(`{"content":[{"type":"text","text":`), jsonrpc.Quote(text)...)
	return append(b, `}],"isError":true}`...)
}

// finishTool makes a result what this client's dialect expects.
func (s *Session) finishTool(result []byte) []byte {
	if s.seed && jsonrpc.Get(result, "isError") == nil && len(result) > 0 && result[0] == '{' {
		result = jsonrpc.Set(result, []byte("false"), "isError")
	}
	return result
}

// checkMeta refuses a progress token that could not be echoed.
func checkMeta(params []byte) error {
	return checkToken(jsonrpc.Get(params, "_meta", "progressToken"))
}

func checkToken(token []byte) error {
	if token == nil || token[0] == '"' {
		return nil
	}
	for _, c := range token {
		if c != '-' && (c < '0' || c > '9') {
			return invalidParams("progressToken must be a string or an integer")
		}
	}
	return nil
}

// asWire returns the error of ours in err.
func asWire(err error) (*jsonrpc.Error, bool) {
	var wire *jsonrpc.Error
	ok := errors.As(err, &wire)
	return wire, ok
}
