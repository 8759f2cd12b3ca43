package catalog

import (
	"bytes"
	"strconv"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// topLevel is what decides about a result: which of the members that versions
// differ in it has.
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

// DownlevelResult makes a result readable for a client of an older version.
// The same slice comes back when nothing has to change.
func DownlevelResult(version string, result []byte) []byte {
	rules := mcp.Rules(version)
	if rules.Era == mcp.Modern || len(result) == 0 {
		return result
	}
	t := readTop(result)
	if t.resultType {
		result = jsonrpc.Set(result, nil, "resultType")
		if jsonrpc.Get(t.meta, mcp.MetaServerInfo) != nil {
			result = withoutIdentity(result)
		}
	}
	if t.ttl {
		result = jsonrpc.Set(result, nil, "ttlMs")
	}
	if t.scope {
		result = jsonrpc.Set(result, nil, "cacheScope")
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

// withoutIdentity removes who made a modern result: older clients were told
// when they shook hands.
func withoutIdentity(result []byte) []byte {
	result = jsonrpc.Set(result, nil, "_meta", mcp.MetaServerInfo)
	for range jsonrpc.Members(jsonrpc.Get(result, "_meta")) {
		return result
	}
	return jsonrpc.Set(result, nil, "_meta")
}

// olderContent replaces the kinds of content that the version does not know.
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

// UplevelResult makes the result of a legacy server one that a client of the
// given version can read: modern ones are told that it is complete. The same
// slice comes back when nothing has to change.
func UplevelResult(version string, result []byte) []byte {
	if mcp.Rules(version).Era != mcp.Modern || jsonrpc.Get(result, "resultType") != nil {
		return result
	}
	// At the front: a large result has been read to its end once, which is
	// enough.
	rest := bytes.TrimLeft(result, " \t\r\n")
	if len(rest) == 0 || rest[0] != '{' {
		return result
	}
	const first = `{"resultType":"complete"`
	out := make([]byte, 0, len(first)+len(rest))
	out = append(out, first...)
	if rest = rest[1:]; !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("}")) {
		out = append(out, ',')
	}
	return append(out, rest...)
}

// UplevelCacheable is UplevelResult for a result that modern clients may keep;
// they are told not to.
func UplevelCacheable(version string, result []byte) []byte {
	if mcp.Rules(version).Era != mcp.Modern {
		return result
	}
	result = UplevelResult(version, result)
	if jsonrpc.Get(result, "ttlMs") == nil {
		result = jsonrpc.Set(result, []byte("0"), "ttlMs")
	}
	if jsonrpc.Get(result, "cacheScope") == nil {
		result = jsonrpc.Set(result, []byte(`"private"`), "cacheScope")
	}
	return result
}
