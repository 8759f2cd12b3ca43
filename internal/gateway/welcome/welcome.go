// Package welcome makes the results of initialize and server/discover: the
// gateway's name, its capabilities, and the instructions of its servers.
package welcome

import (
	"fmt"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Hello is a client's self-description in initialize.
type Hello struct {
	Version            string // as negotiated
	Capabilities, Info []byte // raw objects
}

const maxClientInfo = 64 << 10

// Read reads the parameters of initialize.
func Read(params []byte) (h Hello, err error) {
	proposed := jsonrpc.Get(params, "protocolVersion")
	caps := jsonrpc.Get(params, "capabilities")
	info := jsonrpc.Get(params, "clientInfo")
	switch {
	case len(proposed) == 0 || proposed[0] != '"':
		return h, jsonrpc.InvalidParams("protocolVersion must be a string")
	case len(caps) == 0 || caps[0] != '{':
		return h, jsonrpc.InvalidParams("capabilities must be an object")
	case len(info) == 0 || info[0] != '{':
		return h, jsonrpc.InvalidParams("clientInfo must be an object")
	case len(info) > maxClientInfo:
		return h, jsonrpc.InvalidParams("clientInfo is over %d bytes", maxClientInfo)
	}
	asked, _ := jsonrpc.GetString(params, "protocolVersion")
	version, refused := mcp.Negotiate(asked)
	if refused != nil {
		return h, refused
	}
	return Hello{version, caps, info}, nil
}

// serverWords are the members of a client's capabilities that only a server
// would declare. A client that declares them as objects was made for mcps-proxy
// or mcpx, and gets the answers of those programs.
var serverWords = []string{"tools", "resources", "prompts", "logging", "completion", "completions"}

// Dialect reports whether a client with these capabilities gets the answers of
// mcps-proxy and mcpx.
func Dialect(compat string, caps []byte) bool {
	switch compat {
	case "spec":
		return false
	case "seed":
		return true
	}
	for _, word := range serverWords {
		if raw := jsonrpc.Get(caps, word); len(raw) > 0 && raw[0] == '{' {
			return true
		}
	}
	return false
}

// Initialized is the result of initialize.
func Initialized(version string, caps, info []byte, instructions string) []byte {
	result := fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"serverInfo":%s}`, jsonrpc.Quote(version), caps, info)
	return instructed(result, instructions)
}

// Discovered is the result of server/discover.
func Discovered(caps, info []byte, instructions string) []byte {
	var versions []byte
	for i, v := range mcp.AllVersions() {
		if i > 0 {
			versions = append(versions, ',')
		}
		versions = append(versions, jsonrpc.Quote(v)...)
	}
	result := fmt.Appendf(nil, `{"resultType":"complete","supportedVersions":[%s],"capabilities":%s,"ttlMs":0,"cacheScope":"private","_meta":%s}`,
		versions, caps, jsonrpc.Set([]byte(`{}`), info, mcp.MetaServerInfo))
	return instructed(result, instructions)
}

func instructed(result []byte, instructions string) []byte {
	if instructions == "" {
		return result
	}
	return jsonrpc.Set(result, jsonrpc.Quote(instructions), "instructions")
}

const (
	maxInstructions       = 16 << 10
	maxServerInstructions = 4 << 10
)

// Instructions joins the instructions of servers, up to a size limit.
type Instructions struct{ text strings.Builder }

// Add adds the instructions of a server.
func (b *Instructions) Add(server, text string) {
	text = strings.TrimSpace(i18n.Clean(text))
	if text == "" || b.text.Len() > maxInstructions {
		return
	}
	if len(text) > maxServerInstructions {
		text = strings.ToValidUTF8(text[:maxServerInstructions], "") + "…"
	}
	if b.text.Len() > 0 {
		b.text.WriteString("\n\n")
	}
	fmt.Fprintf(&b.text, "## %s\n%s", i18n.Clean(server), text)
}

// String returns the joined instructions.
func (b *Instructions) String() string { return b.text.String() }
