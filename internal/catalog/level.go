package catalog

import (
	"strconv"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// topLevel records which of the members that differ between versions a result
// has.
type topLevel struct {
	resultType, ttl, scope        bool
	structured, content, messages []byte
	meta                          []byte
}

func readTop(result []byte) topLevel {
	var t topLevel
	for name, value := range jsonrpc.Members(result) {
		switch name {
		case "resultType":
			t.resultType = true
		case "ttlMs":
			t.ttl = true
		case "cacheScope":
			t.scope = true
		case "structuredContent":
			t.structured = value
		case "content":
			t.content = value
		case "messages":
			t.messages = value
		case "_meta":
			t.meta = value
		}
	}
	return t
}

// DownlevelResult makes a result readable for a client of an older version. It
// returns the same slice if nothing has to change. If owned is true, members
// are removed in place.
func DownlevelResult(version string, result []byte, owned bool) []byte {
	rules := mcp.Rules(version)
	if rules.Era == mcp.Modern || len(result) == 0 {
		return result
	}
	t := readTop(result)
	remove := func(path ...string) { result = jsonrpc.Set(result, nil, path...) }
	if owned && t.structured == nil && t.messages == nil && rules.Audio && rules.Links { // nothing of t is used below
		remove = func(path ...string) { result = jsonrpc.Cut(result, path...) }
	}
	if t.resultType {
		switch identity, beside := identityIn(t.meta); {
		case identity && beside:
			remove("_meta", mcp.MetaServerInfo)
		case identity:
			remove("_meta")
		}
		remove("resultType")
	}
	if t.ttl {
		remove("ttlMs")
	}
	if t.scope {
		remove("cacheScope")
	}
	if !rules.Audio || !rules.Links {
		result = olderContent(rules, t, result)
	}
	if t.structured != nil && (t.structured[0] != '{' || !rules.Links) {
		if len(t.content) == 0 || emptyArray(t.content) {
			result = jsonrpc.Set(result, append(append([]byte{'['}, textBlock(string(t.structured))...), ']'), "content")
		}
		if t.structured[0] != '{' {
			result = jsonrpc.Set(result, nil, "structuredContent")
		}
	}
	return result
}

// identityIn reports whether meta contains the identity of the server, which
// older clients received in the handshake, and whether it contains anything
// else.
func identityIn(meta []byte) (identity, beside bool) {
	for name := range jsonrpc.Members(meta) {
		if name == mcp.MetaServerInfo {
			identity = true
		} else {
			beside = true
		}
	}
	return identity, beside
}

// olderContent replaces the content types that the version does not have.
func olderContent(rules mcp.Version, t topLevel, result []byte) []byte {
	n := 0
	block := func(b []byte) []byte {
		n++
		return olderBlock(rules, b, n)
	}
	if t.content != nil {
		result = editEach(result, "content", block)
	}
	if t.messages != nil {
		result = editEach(result, "messages", func(m []byte) []byte {
			content := jsonrpc.Get(m, "content")
			if len(content) == 0 || content[0] != '{' {
				return m
			}
			if out := block(content); !same(out, content) {
				return jsonrpc.Set(m, out, "content")
			}
			return m
		})
	}
	return result
}

func olderBlock(rules mcp.Version, block []byte, n int) []byte {
	switch kind, _ := jsonrpc.GetString(block, "type"); {
	case kind == "audio" && !rules.Audio:
		out := []byte(`{"type":"resource","resource":{"uri":"audio:`)
		out = append(strconv.AppendInt(out, int64(n), 10), '"')
		if mime := jsonrpc.Get(block, "mimeType"); mime != nil {
			out = append(append(out, `,"mimeType":`...), mime...)
		}
		data := jsonrpc.Get(block, "data")
		if data == nil {
			data = []byte(`""`)
		}
		return append(append(append(out, `,"blob":`...), data...), "}}"...)
	case kind == "resource_link" && !rules.Links:
		uri, _ := jsonrpc.GetString(block, "uri")
		return textBlock(uri)
	}
	return block
}

func textBlock(s string) []byte {
	return append(append([]byte(`{"type":"text","text":`), jsonrpc.Quote(s)...), '}')
}

// UplevelResult adapts the result of a legacy server to the version of a
// client: modern clients need resultType "complete". It returns the same slice
// if nothing has to change. If owned is true, it may write into the spare
// capacity of result.
func UplevelResult(version string, result []byte, owned bool) []byte {
	if mcp.Rules(version).Era != mcp.Modern {
		return result
	}
	return jsonrpc.Add(result, "resultType", `"complete"`, owned)
}

// UplevelCacheable is UplevelResult for a result that modern clients may cache;
// it tells them not to.
func UplevelCacheable(version string, result []byte, owned bool) []byte {
	if mcp.Rules(version).Era != mcp.Modern {
		return result
	}
	result = UplevelResult(version, result, owned)
	result = jsonrpc.Add(result, "ttlMs", "0", owned)
	return jsonrpc.Add(result, "cacheScope", `"private"`, owned)
}
