package mcp

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"mcp-all-in-one/internal/jsonrpc"
)

// Header names in the canonical form of net/http.
const (
	HeaderSession   = "Mcp-Session-Id"
	HeaderVersion   = "Mcp-Protocol-Version"
	HeaderMethod    = "Mcp-Method"
	HeaderName      = "Mcp-Name"
	HeaderLastEvent = "Last-Event-Id"
)

// TaskMember is the member that names the task of a request.
const TaskMember = "taskId"

// NameMember returns the member of params that Mcp-Name repeats; "" for none.
func NameMember(method string) string {
	switch method {
	case MethodToolsCall, MethodPromptsGet:
		return "name"
	case MethodResourcesRead:
		return "uri"
	}
	if strings.HasPrefix(method, "tasks/") {
		return TaskMember
	}
	return ""
}

// ParamHeaderPrefix is the prefix of headers that repeat arguments.
const ParamHeaderPrefix = "Mcp-Param-"

// HeaderText returns an argument as a header repeats it. It returns false for
// arguments that are not repeated: absent, null, or not a string, number or
// boolean.
func HeaderText(arguments []byte, path ...string) (string, bool) {
	raw := jsonrpc.Get(arguments, path...)
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		return jsonrpc.GetString(arguments, path...)
	case '{', '[', 'n':
		return "", false
	}
	return string(raw), true
}

const base64Prefix, base64Suffix = "=?base64?", "?="

// EncodeHeader encodes a value that a header cannot carry unchanged: characters
// other than printable ASCII, leading or trailing white space, or a value that
// looks encoded.
func EncodeHeader(s string) string {
	plain := s == strings.TrimSpace(s) && !(strings.HasPrefix(s, base64Prefix) && strings.HasSuffix(s, base64Suffix))
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= 0x20 && s[i] <= 0x7e
	}
	if plain {
		return s
	}
	return base64Prefix + base64.StdEncoding.EncodeToString([]byte(s)) + base64Suffix
}

// DecodeHeader reverses EncodeHeader. It returns false for a value that is not
// allowed in a header.
func DecodeHeader(s string) (string, bool) {
	if inner, ok := strings.CutPrefix(s, base64Prefix); ok {
		if inner, ok = strings.CutSuffix(inner, base64Suffix); ok {
			b, err := base64.StdEncoding.Strict().DecodeString(inner)
			return string(b), err == nil && utf8.Valid(b)
		}
	}
	for i := range len(s) {
		if s[i] < 0x20 && s[i] != '\t' || s[i] > 0x7e {
			return "", false
		}
	}
	return s, true
}
