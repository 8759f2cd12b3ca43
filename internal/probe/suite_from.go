package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// SuiteFrom writes a test file from calls that really happened: each once,
// with a snapshot of what it answers, or with the error that it answered.
func SuiteFrom(target string, turns []Turn) []byte {
	var out bytes.Buffer
	if target != "" {
		fmt.Fprintf(&out, "target: %s\n", scalar(target))
	} else {
		out.WriteString("# say what is tested: target, url or command\n")
	}
	out.WriteString("tests:\n")
	seen := make(map[string]int)
	for i := range turns {
		t := &turns[i]
		kind, subject, args := subjectOf(t)
		if kind == "" || t.FromServer {
			continue
		}
		key := kind + "\x00" + subject + "\x00" + string(args)
		if seen[key]++; seen[key] > 1 {
			continue
		}
		name := subject
		seen[kind+subject]++
		if n := seen[kind+subject]; n > 1 {
			name = fmt.Sprintf("%s (%d)", subject, n)
		}
		writeTest(&out, t, kind, subject, name, args)
	}
	return out.Bytes()
}

func subjectOf(t *Turn) (kind, subject string, args json.RawMessage) {
	switch t.Method {
	case mcp.MethodToolsCall:
		subject, _ = jsonrpc.GetString(t.Params, "name")
		return "call", subject, jsonrpc.Get(t.Params, "arguments")
	case mcp.MethodPromptsGet:
		subject, _ = jsonrpc.GetString(t.Params, "name")
		return "prompt", subject, jsonrpc.Get(t.Params, "arguments")
	case mcp.MethodResourcesRead:
		subject, _ = jsonrpc.GetString(t.Params, "uri")
		return "read", subject, nil
	}
	return "", "", nil
}

func writeTest(out *bytes.Buffer, t *Turn, kind, subject, name string, args json.RawMessage) {
	fmt.Fprintf(out, "  - name: %s\n    %s: %s\n", scalar(name), kind, scalar(subject))
	if len(args) > 0 && string(args) != "{}" {
		fmt.Fprintf(out, "    args: %s\n", compact(args)) // JSON is YAML
	}
	if t.Err != nil {
		fmt.Fprintf(out, "    expect: { error: %s }\n", jsonrpc.Get(t.Err, "code"))
		return
	}
	failed := string(jsonrpc.Get(t.Result, "isError")) == "true"
	fmt.Fprintf(out, "    expect: { is_error: %v, snapshot: { ignore: [] } }\n", failed)
}

// scalar writes a text so that YAML reads the same text.
func scalar(s string) string {
	raw, err := yaml.Marshal(s)
	if err != nil || bytes.Contains(bytes.TrimSpace(raw), []byte("\n")) {
		return string(jsonrpc.Quote(s))
	}
	return strings.TrimSpace(string(raw))
}
