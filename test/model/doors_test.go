package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
)

// make makes an attempt and returns the client's response, and the request that
// the server gets if the attempt is allowed.
func (w *town) make(t *testing.T, who *holder, a attempt) (told, heard string) {
	t.Helper()
	arguments := map[string]any{}
	if a.complete {
		arguments["text"] = "hi"
	}
	path := "/mcp"
	if a.schema != "default" {
		path = "/api/" + a.schema + "/mcp"
	}
	name := a.server + "__" + a.tool
	call := map[string]any{"name": name, "arguments": arguments}
	heard = mcp.MethodToolsCall + " " + a.tool
	switch a.door {
	case doorLegacy:
		return w.legacy(t, who, path, call), heard
	case doorModern:
		return w.modern(t, who, path, mcp.MethodToolsCall, name, call), heard
	case doorEndpoint:
		path = "/s/" + a.server + "/mcp"
		if a.schema != "default" {
			path = "/api/" + a.schema + path
		}
		call["name"] = a.tool
		return w.modern(t, who, path, mcp.MethodToolsCall, a.tool, call), heard
	case doorExec:
		inner := map[string]any{"server_name": a.server, "tool_name": a.tool, "arguments": arguments}
		return w.modern(t, who, path, mcp.MethodToolsCall, "exec", map[string]any{"name": "exec", "arguments": inner}), heard
	case doorRun:
		raw, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		code := map[string]any{"code": fmt.Sprintf("return await tools.%s.%s(%s)", a.server, a.tool, raw)}
		return w.modern(t, who, path, mcp.MethodToolsCall, "run", map[string]any{"name": "run", "arguments": code}), heard
	case doorBench:
		return w.bench(t, who, a.schema, call), heard
	case doorPrompt:
		name := a.server + "__" + prompt
		return w.modern(t, who, path, mcp.MethodPromptsGet, name, map[string]any{"name": name}), mcp.MethodPromptsGet + " " + prompt
	case doorResource:
		uri := "memo://" + a.server
		return w.modern(t, who, path, mcp.MethodResourcesRead, uri, map[string]any{"uri": uri}), mcp.MethodResourcesRead + " " + uri
	}
	t.Fatalf("no door is called %s", a.door)
	return "", ""
}

func (w *town) line(t *testing.T, method string, params map[string]any) []byte {
	w.next++
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": w.next, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (w *town) modern(t *testing.T, who *holder, path, method, name string, params map[string]any) string {
	params["_meta"] = map[string]any{mcp.MetaVersion: mcp.V2026_07_28, mcp.MetaCapabilities: map[string]any{}, mcp.MetaClientInfo: map[string]string{"name": "model", "version": "1"}}
	status, _, body := w.do(t, http.MethodPost, path, who.name, http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {mcp.V2026_07_28}, "Mcp-Method": {method}, "Mcp-Name": {name},
	}, w.line(t, method, params))
	return fmt.Sprintf("%d %s", status, body)
}

func (w *town) legacy(t *testing.T, who *holder, path string, call map[string]any) string {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	status, answer, body := w.do(t, http.MethodPost, path, who.name, h, w.line(t, mcp.MethodInitialize, map[string]any{
		"protocolVersion": mcp.V2025_11_25, "capabilities": map[string]any{}, "clientInfo": map[string]string{"name": "model", "version": "1"},
	}))
	id := answer.Get("Mcp-Session-Id")
	if id == "" {
		return fmt.Sprintf("%d %s", status, body)
	}
	h.Set("Mcp-Session-Id", id)
	h.Set("Mcp-Protocol-Version", mcp.V2025_11_25)
	status, _, body = w.do(t, http.MethodPost, path, who.name, h, w.line(t, mcp.MethodToolsCall, call))
	w.do(t, http.MethodDelete, path, who.name, h, nil)
	return fmt.Sprintf("%d %s", status, body)
}

// bench calls a tool on the console's Bench, through the gateway.
func (w *town) bench(t *testing.T, who *holder, schema string, call map[string]any) string {
	status, body := w.api(t, who.name, http.MethodPost, "bench", map[string]any{"fresh": true, "target": map[string]any{
		"via": "gateway", "schema": schema, "protocol": mcp.V2025_11_25, "offer": []string{},
	}})
	var opened struct{ ID string }
	if status != http.StatusOK || json.Unmarshal([]byte(body), &opened) != nil {
		return fmt.Sprintf("%d %s", status, body)
	}
	defer w.api(t, who.name, http.MethodDelete, "bench/"+opened.ID, nil)
	status, body = w.api(t, who.name, http.MethodPost, "bench/"+opened.ID+"/calls", map[string]any{"method": mcp.MethodToolsCall, "params": call})
	var run struct{ ID, Status string }
	if status != http.StatusAccepted || json.Unmarshal([]byte(body), &run) != nil {
		return fmt.Sprintf("%d %s", status, body)
	}
	id := run.ID
	for end := time.Now().Add(patience); ; {
		status, body = w.api(t, who.name, http.MethodGet, "runs/"+id, nil)
		if status != http.StatusOK || json.Unmarshal([]byte(body), &run) != nil || run.Status != "running" {
			return fmt.Sprintf("%d %s", status, body)
		}
		if time.Now().After(end) {
			t.Fatalf("the run does not end: %s", body)
		}
	}
}
