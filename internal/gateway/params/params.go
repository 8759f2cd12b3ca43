// Package params reads the params of clients' requests, and refuses params that
// a server could read differently.
package params

import (
	"bytes"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

const maxURI = 8 << 10

// URI returns the resource that a request names.
func URI(params []byte) (string, error) {
	uri, ok := jsonrpc.GetString(params, "uri")
	switch {
	case !ok || uri == "":
		return "", jsonrpc.InvalidParams("uri must be a string").WithData(map[string]string{"parameter": "uri"})
	case len(uri) > maxURI:
		return "", jsonrpc.InvalidParams("uri is over %d bytes", maxURI)
	case strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }):
		// Some servers drop or replace these characters, and would read another
		// resource than the authorized one.
		return "", jsonrpc.InvalidParams("uri must not have spaces, control characters or backslashes: write them as %%20, %%5C …")
	case hasScript(uri):
		return "", jsonrpc.InvalidParams("uri must not be a script")
	}
	return uri, nil
}

func hasScript(uri string) bool {
	const script = "javascript:"
	if len(uri) < len(script) {
		return false
	}
	for i := range len(script) {
		if uri[i]|0x20 != script[i] && uri[i] != script[i] {
			return false
		}
	}
	return true
}

// A ToolCall holds the params of tools/call that the gateway reads.
type ToolCall struct {
	Name                  string // empty if it is not a string
	Arguments, Meta, Task []byte // raw, nil when absent
}

// ReadToolCall reads params in one pass: they may be large.
func ReadToolCall(params []byte) (c ToolCall) {
	for key, value := range jsonrpc.Members(params) {
		switch key {
		case "name":
			c.Name, _ = jsonrpc.Text(value)
		case "arguments":
			c.Arguments = value
		case "_meta":
			c.Meta = value
		case "task":
			c.Task = value
		}
	}
	return c
}

// CheckTask refuses the task of a call if it is not what 2025-11-25 defines.
// task is raw, nil when absent; null counts as absent.
func CheckTask(task []byte) error {
	if task == nil || string(task) == "null" {
		return nil
	}
	if task[0] != '{' {
		return jsonrpc.InvalidParams("task must be an object").WithData(map[string]string{"parameter": "task"})
	}
	if ttl := jsonrpc.Get(task, "ttl"); ttl != nil {
		if n, err := strconv.ParseFloat(string(ttl), 64); err != nil || n < 0 {
			return jsonrpc.InvalidParams("task.ttl must be a number of milliseconds that is not negative").WithData(map[string]string{"parameter": "task"})
		}
	}
	return nil
}

// CheckMeta refuses a progress token that could not be echoed.
func CheckMeta(params []byte) error {
	return CheckToken(jsonrpc.Get(params, "_meta", "progressToken"))
}

// CheckToken refuses a progress token that is neither a string nor an integer.
func CheckToken(token []byte) error {
	if token == nil || token[0] == '"' {
		return nil
	}
	for _, c := range token {
		if c != '-' && (c < '0' || c > '9') {
			return jsonrpc.InvalidParams("progressToken must be a string or an integer")
		}
	}
	return nil
}

// IsEmpty reports whether a value is an object without members.
func IsEmpty(raw []byte) bool {
	return len(raw) >= 2 && raw[0] == '{' && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}
