package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/script"
)

// callTool calls a tool for the script.
func (r *running) callTool(ctx context.Context, req *jsonrpc.Request) ([]byte, *thrown) {
	server, tool, bad := r.resolve(ctx, req.Params)
	if bad != nil {
		return nil, bad
	}
	arguments := argumentsOf(req.Params)
	call := r.begin(server + "." + tool)
	resp, err := r.env.Call(ctx, server, tool, arguments)
	switch {
	case err != nil:
		r.end(ctx, call, stateOf(err), nil)
		t := refusedBy(err)
		t.Server, t.Tool = server, tool
		if ctx.Err() == nil {
			t.Message, t.Reason = worded(r.env, server, tool, arguments, err)
		}
		return nil, t
	case resp.Err != nil:
		r.end(ctx, call, callFailed, nil)
		return nil, r.refused(ctx, server, tool, resp.Err)
	case mcp.IsToolError(resp.Result):
		r.end(ctx, call, callFailed, resp.Result)
		if req.Method == script.MethodRaw {
			return r.fitting(resp.Result)
		}
		t := &thrown{Name: toolError, Message: textOf(resp.Result), Server: server, Tool: tool, Result: resp.Result}
		if len(t.Result) > maxThrown {
			t.Result = nil
		}
		return nil, t
	}
	r.end(ctx, call, callDone, resp.Result)
	if req.Method == script.MethodRaw {
		return r.fitting(resp.Result)
	}
	return r.fitting(valueOf(resp.Result))
}

// maxThrown is the maximum size of a result in an error.
const maxThrown = 1 << 20

// forScript is inspect for a script: a query finds tools whatever the mode, and
// a failure is thrown.
func (c compact) forScript(ctx context.Context, env *Env, params []byte) ([]byte, *thrown) {
	c.search = true
	resp, err := c.inspect(ctx, env, params)
	if err != nil {
		return nil, refusedBy(err)
	}
	value := valueOf(resp.Result)
	if !mcp.IsToolError(resp.Result) {
		return value, nil
	}
	t := &thrown{Name: callError}
	t.Message, _ = jsonrpc.GetString(value, "error")
	for _, list := range []string{"available_servers", "available_tools"} {
		var names []string
		if json.Unmarshal(jsonrpc.Get(value, list), &names) == nil {
			t.Message += ". Available: " + listText(names)
		}
	}
	return nil, t
}

// resolve finds the tool that a script names, by its exact name or by the name
// with underscores in place of characters that identifiers cannot have. It waits
// for a server that is starting. An unknown name is left to the gateway, which
// refuses and records it.
func (r *running) resolve(ctx context.Context, params []byte) (server, tool string, bad *thrown) {
	server, _ = jsonrpc.GetString(params, "server")
	tool, _ = jsonrpc.GetString(params, "tool")
	if server == "" || tool == "" {
		return "", "", &thrown{Name: callError, Message: "a call needs a server and a tool: tools.SERVER.TOOL(args)"}
	}
	all := r.env.Catalog()
	if _, miss := all.ToolOf(server, tool, r.env.Visible); miss == nil {
		return server, tool, nil // without searching the others
	}
	view := catalog.View{Visible: r.env.Visible}
	var servers []string
	for _, s := range all.Servers(view) {
		servers = append(servers, s.Name)
	}
	if server, bad = pick(server, servers); bad != nil {
		return "", "", bad
	}
	if _, miss := all.ToolOf(server, tool, r.env.Visible); miss != nil && miss.Kind == catalog.ServerDown {
		_ = r.env.Await(ctx, miss) // the call returns the same error
		all = r.env.Catalog()
	}
	var tools []string
	for _, ref := range all.ToolsOf(server, view) {
		tools = append(tools, ref.Beside)
	}
	tool, bad = pick(tool, tools)
	return server, tool, bad
}

// pick returns the name in names that a script means.
func pick(name string, names []string) (string, *thrown) {
	var found []string
	for _, n := range names {
		if n == name {
			return n, nil
		}
		if catalog.Identifier(n) == name {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 0:
		return name, nil
	case 1:
		return found[0], nil
	}
	return "", &thrown{Name: callError, Message: fmt.Sprintf("%s could be %s: write tools[\"SERVER\"][\"TOOL\"] with the name itself", name, strings.Join(found, " or "))}
}

// refused converts an error of a server. If it asks for a visit to a URL first,
// the user is asked; we never repeat the call. Everyone who has the URL can use
// it, so the model gets it only if the user cannot be asked.
func (r *running) refused(ctx context.Context, server, tool string, e *jsonrpc.Error) *thrown {
	t := &thrown{Name: callError, Message: e.Message, Server: server, Tool: tool}
	if e.Code != mcp.CodeElicitURL {
		return t
	}
	t.Reason = "url_elicitation"
	for q := range jsonrpc.Elements(jsonrpc.AsArray(jsonrpc.Get(e.Data, "elicitations"))) {
		url, _ := jsonrpc.GetString(q, "url")
		resp, err := r.env.Ask(ctx, mcp.MethodElicit, q)
		if err != nil || resp.Err != nil {
			t.Message += ": a person has to visit " + url + " first"
			continue
		}
		action, _ := jsonrpc.GetString(resp.Result, "action")
		if action != "accept" {
			return &thrown{Name: declined, Message: "the person did not visit the page", Server: server, Tool: tool}
		}
		t.Retry = true
		t.Message += ": the person was asked to visit a page and agreed; call again once that is done"
	}
	return t
}

// valueOf returns the value of a result: its structured content, otherwise its
// text, parsed if it is JSON, otherwise its blocks.
func valueOf(result []byte) []byte {
	if v := jsonrpc.Get(result, "structuredContent"); len(v) > 0 && v[0] != 'n' {
		return v
	}
	content := jsonrpc.AsArray(jsonrpc.Get(result, "content"))
	text, isText := joined(content)
	if !isText {
		return content
	}
	if t := strings.TrimSpace(text); t != "" && (t[0] == '{' || t[0] == '[') && jsonrpc.Valid([]byte(t)) {
		return []byte(t)
	}
	return jsonrpc.Quote(text)
}

// joined returns the joined texts of blocks; false if there is any other block.
func joined(content []byte) (string, bool) {
	var b strings.Builder
	n := 0
	for block := range jsonrpc.Elements(content) {
		kind, _ := jsonrpc.GetString(block, "type")
		text, ok := jsonrpc.GetString(block, "text")
		if kind != "text" || !ok {
			return "", false
		}
		if n++; n > 1 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
	}
	return b.String(), n > 0
}

// textOf returns the message of a tool error.
func textOf(result []byte) string {
	if text, ok := joined(jsonrpc.AsArray(jsonrpc.Get(result, "content"))); ok {
		return clipText(text, maxThrown)
	}
	return "the tool failed"
}

// kept reads a stored result: its value, or a part of its text. A script reads one
// result at a time, because each is loaded whole.
func (r *running) kept(ctx context.Context, req *jsonrpc.Request) ([]byte, *thrown) {
	r.reading.Lock()
	defer r.reading.Unlock()
	uri, _ := jsonrpc.GetString(req.Params, "uri")
	result, err := r.env.Kept(ctx, uri)
	if err != nil {
		t := refusedBy(err)
		if errors.Is(err, kept.ErrNotFound) {
			t.Reason = "not_found"
		}
		return nil, t
	}
	data := result.Data
	if req.Method == script.MethodKeptSlice {
		query, limit, all := script.Slice(req.Params)
		part, err := kept.Read(ctx, data, query, limit, nil)
		if err != nil {
			return nil, &thrown{Name: callError, Message: err.Error()}
		}
		if all && part.Rest != "" {
			return nil, &thrown{Name: callError, Message: fmt.Sprintf("the part has more than %d MB: ask for less", limit>>20)}
		}
		return jsonrpc.Quote(part.Text), nil
	}
	if t := strings.TrimSpace(string(data)); t != "" && (t[0] == '{' || t[0] == '[') && jsonrpc.Valid([]byte(t)) {
		if len(t) <= script.MaxValue {
			return []byte(t), nil
		}
	}
	text := jsonrpc.Quote(string(data))
	if len(text) > script.MaxValue {
		return script.Handle(uri, len(data), kept.Shape(data)), nil
	}
	return text, nil
}

// ask asks the user of the client a question of the script.
func (r *running) ask(ctx context.Context, params []byte) ([]byte, *thrown) {
	message, ok := jsonrpc.GetString(params, "message")
	schema := jsonrpc.Get(params, "schema")
	if !ok || message == "" || len(schema) > 0 && schema[0] != '{' {
		return nil, &thrown{Name: callError, Message: "ask takes a message and a schema of the answer: ask('Which one?', {type: 'object', properties: {…}})"}
	}
	if schema == nil {
		schema = []byte(`{"type":"object","properties":{}}`)
	}
	question := fmt.Appendf(nil, `{"message":%s,"requestedSchema":%s}`, jsonrpc.Quote("From a script: "+message), schema)
	resp, err := r.env.Ask(ctx, mcp.MethodElicit, question)
	switch {
	case err != nil:
		t := refusedBy(err)
		if wire := wireOf(err); wire != nil && wire.Code == jsonrpc.CodeMethodNotFound {
			t.Message = "no person can be asked: the client does not offer this"
		}
		return nil, t
	case resp.Err != nil:
		return nil, &thrown{Name: callError, Message: resp.Err.Message}
	}
	if action, _ := jsonrpc.GetString(resp.Result, "action"); action != "accept" {
		return nil, &thrown{Name: declined, Message: "the person did not answer: " + action}
	}
	if content := jsonrpc.Get(resp.Result, "content"); content != nil {
		return content, nil
	}
	return []byte(`{}`), nil
}
