package jsonrpc

import (
	"bytes"
	"slices"
	"strings"
)

// Many servers accept "Name" for "name": the JSON decoders of some languages
// ignore the case of a key, treat the long s and the Kelvin sign as letters,
// and take the last match. The gateway routes and authorizes by the exact
// names, so other spellings of these names must not reach a server.

// routed holds the members of params, and of the objects in inner, that decide
// where a request goes, what it may do or who sent it.
var routed = map[string]string{}

func init() {
	for _, name := range []string{
		"name", "arguments", "uri", "_meta", "cursor", "ref", "argument", "level", "type", "task", "taskId", "context", "requestId", "requestState",
		"inputResponses", "inputRequests", "protocolVersion", "capabilities", "clientInfo", "progressToken", "notifications", "resources",
		"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities",
		"io.modelcontextprotocol/logLevel", "io.modelcontextprotocol/related-task",
	} {
		routed[strings.ToLower(name)] = name
	}
}

// inner lists the members of params that contain such members themselves.
var inner = [...]string{"_meta", "ref"}

// longestRouted is the maximum length of a variant: a letter may take three
// bytes.
const longestRouted = 3 * len("io.modelcontextprotocol/clientCapabilities")

// isVariant reports whether a key is another spelling of a routed name.
func isVariant(key []byte) bool {
	if len(key) < 3 || len(key) > longestRouted {
		return false
	}
	switch string(key) { // nearly all requests have these
	case "name", "arguments", "_meta":
		return false
	}
	var folded [longestRouted]byte
	text := folded[:0]
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case 'A' <= c && c <= 'Z':
			text = append(text, c|0x20)
		case c < 0x80:
			text = append(text, c)
		case bytes.HasPrefix(key[i:], []byte("ſ")):
			text = append(text, 's')
			i++
		case bytes.HasPrefix(key[i:], []byte("\u212a")): // the Kelvin sign
			text = append(text, 'k')
			i += 2
		default:
			return false
		}
	}
	name, ok := routed[string(text)]
	return ok && name != string(key)
}

// families lists the prefixes of methods that are routed by such members. The
// params of other methods are forwarded unchanged, because their meaning is
// unknown.
var families = [...]string{
	"tools/", "prompts/", "resources/", "completion/", "logging/", "tasks/", "subscriptions/", "sampling/", "elicitation/", "roots/",
	"server/", "notifications/", "initialize",
}

func isRouted(method string) bool {
	return slices.ContainsFunc(families[:], func(f string) bool { return strings.HasPrefix(method, f) })
}

// exact returns params without variants of routed names.
func exact(method string, params []byte) []byte {
	if !isRouted(method) {
		return params
	}
	out := withoutVariants(params)
	for _, name := range inner {
		if value := Get(out, name); len(value) > 0 && value[0] == '{' {
			if clean := withoutVariants(value); len(clean) != len(value) {
				out = Set(out, clean, name)
			}
		}
	}
	return out
}

func withoutVariants(object []byte) []byte {
	out := object
	for name := range Members(object) {
		if isVariant([]byte(name)) {
			out = Set(out, nil, name)
		}
	}
	return out
}
