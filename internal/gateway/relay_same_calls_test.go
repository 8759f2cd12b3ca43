package gateway_test

import (
	"encoding/base64"
	"math/rand/v2"
	"net/http"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// An aCall is a call as a client sends it.
type aCall struct {
	tool, body string
	header     http.Header
}

// name makes it one of another tool.
func (c *aCall) name(tool string) {
	c.body = strings.Replace(c.body, `"name":"up__say"`, `"name":`+string(jsonrpc.Quote(tool)), 1)
}

// A caller makes up calls: nearly all that it says is usual.
type caller struct {
	*rand.Rand        // nil where all is
	session    string // empty for a modern client
}

func (r caller) some(first string, rest ...string) string {
	if r.Rand == nil || r.IntN(12) > 0 {
		return first
	}
	return rest[r.IntN(len(rest))]
}

func (r caller) call() aCall {
	some := r.some
	tool := some("up__say", "up__none", "none", "up__header")
	quoted := some(string(jsonrpc.Quote(tool)), strings.Replace(string(jsonrpc.Quote(tool)), "_", `\u005f`, 1), `"up__other"`, "7")
	ways := []string{"plain", "log", "fail", "none", "url", "reserved", "own", "params", "ask", "stateless", "big", "link", "empty", "weird", "progress"}
	way := ways[0]
	if r.Rand != nil {
		way = ways[r.IntN(len(ways))]
	}
	params := `{"name":` + quoted + some(`,"arguments":{"way":"`+way+`","x":"y"}`, ``, `,"arguments":null`, `,"arguments":[]`, `,"arguments":{"way":"`+way+`"}, "task":{}`,
		`,"arguments":{"way":"`+way+`","way":"plain"}`) +
		some(``, `,"requestState":"x"`, `,"inputResponses":{}`, `,"requestState":7,"inputResponses":{"a":{}}`, `,"name":"up__say"`, `,"extra":{"_meta":{}}`) +
		r.meta() + `}`
	return aCall{tool, `{"jsonrpc":"2.0","id":` + some("1", `"a\u0062"`, "null", `"`+strings.Repeat("long", 20)+`"`) + `,"method":` +
		some(`"tools/call"`, `"tools\/call"`, `"tools/list"`) + `,"params":` + params + `}`, r.header(tool)}
}

func (r caller) meta() string {
	some := r.some
	if r.session != "" {
		return some(``, `,"_meta":{}`, `,"_meta":null`, `,"_meta":{"progressToken":"p"}`, `,"_meta":{"x":"\/"}`, `,"x":"`+mcp.MetaVersion+`"`)
	}
	meta := some(`"`+mcp.MetaVersion+`":"`+mcp.LatestModern+`"`,
		`"`+mcp.MetaVersion+`" : "2026\u002d07-28"`, `"`+strings.Replace(mcp.MetaVersion, "/", `\/`, 1)+`":"`+mcp.LatestModern+`"`,
		`"`+mcp.MetaVersion+`":"2027-01-01"`, `"`+mcp.MetaVersion+`":7`)
	meta += some(`,"`+mcp.MetaCapabilities+`":{}`, `,"`+mcp.MetaCapabilities+`":{"elicitation":{"form":{}}}`,
		`,"`+mcp.MetaCapabilities+`":{"elicitation":{"url":{}}}`, `,"`+mcp.MetaCapabilities+`":{"roots":{},"x":[1]}`, ``, `,"`+mcp.MetaCapabilities+`":7`)
	meta += some(``, `,"`+mcp.MetaClientInfo+`":{"name":"c","version":"1"}`, `,"`+mcp.MetaClientInfo+`":null`)
	meta += some(``, `,"`+mcp.MetaLogLevel+`":"info"`, `,"`+mcp.MetaLogLevel+`":"loud"`, `,"`+mcp.MetaLogLevel+`":7`)
	meta += some(``, `,"progressToken":"p"`, `,"progressToken":1.5`, `,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`, `,"x":{}`)
	return some(`,"_meta":{`, `,"\u005fmeta":{`) + meta + `}`
}

func (r caller) header(tool string) http.Header {
	some := r.some
	h := http.Header{
		"Content-Type": {"application/json"}, "Accept": {some("application/json, text/event-stream", "application/json", "text/event-stream")},
		"Mcp-Protocol-Version": {some(mcp.LatestModern, "2027-01-01")}, "Mcp-Method": {some(mcp.MethodToolsCall, "tools/list")},
		"Mcp-Name": {some(tool, "=?base64?"+base64.StdEncoding.EncodeToString([]byte(tool))+"?=", "other")},
	}
	if r.session == "" {
		return h
	}
	return http.Header{
		"Content-Type": h["Content-Type"], "Accept": h["Accept"], "Mcp-Session-Id": {r.session}, "Mcp-Protocol-Version": {some(mcp.V2025_06_18, mcp.V2025_11_25, "1999-01-01")},
	}
}
