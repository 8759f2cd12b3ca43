package record

import (
	"encoding/json"
	"fmt"
	"slices"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// otherHandshake answers a handshake of the era that was not recorded, using
// the recorded one; nil for any other request.
func (m *Mock) otherHandshake(req *jsonrpc.Request, version string) *Turn {
	method := map[string]string{mcp.MethodInitialize: mcp.MethodDiscover, mcp.MethodDiscover: mcp.MethodInitialize}[req.Method]
	t := m.pick(func(t *Turn) bool { return t.Method == method && t.Result != nil })
	if method == "" || t == nil {
		return nil
	}
	result := []byte(`{}`)
	set := func(value []byte, path ...string) {
		if len(value) > 0 {
			result = jsonrpc.Set(result, value, path...)
		}
	}
	if req.Method == mcp.MethodInitialize {
		wanted, _ := jsonrpc.GetString(req.Params, "protocolVersion")
		if v, ok := mcp.Lookup(wanted); !ok || v.Era != mcp.Legacy {
			wanted = mcp.LatestLegacy
		}
		set(jsonrpc.Quote(wanted), "protocolVersion")
		set(jsonrpc.Get(t.Result, "_meta", mcp.MetaServerInfo), "serverInfo")
	} else {
		if !slices.Contains(mcp.Versions(mcp.Modern), version) {
			version = mcp.LatestModern
		}
		set(fmt.Appendf(nil, `[%s]`, jsonrpc.Quote(version)), "supportedVersions")
		set(jsonrpc.Get(t.Result, "serverInfo"), "_meta", mcp.MetaServerInfo)
	}
	set(jsonrpc.Get(t.Result, "capabilities"), "capabilities")
	set(jsonrpc.Get(t.Result, "instructions"), "instructions")
	return &Turn{Method: req.Method, Result: result}
}

// cacheable lists the methods whose modern results have cache information.
var cacheable = []string{
	mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodTemplatesList, mcp.MethodResourcesRead,
}

// inEra adds the members that the client's era requires and a recording of the
// other era lacks.
func inEra(method string, result json.RawMessage, modern bool) json.RawMessage {
	if !modern {
		return result
	}
	add := func(name, value string) {
		if jsonrpc.Get(result, name) == nil {
			result = jsonrpc.Set(slices.Clone(result), []byte(value), name)
		}
	}
	add("resultType", `"complete"`)
	if slices.Contains(cacheable, method) {
		add("ttlMs", "0")
		add("cacheScope", `"private"`)
	}
	return result
}
