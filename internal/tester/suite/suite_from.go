package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/tester/record"
)

// ReadScript reads the requests of a test file, or those of a recording
// (.mcpcap).
func ReadScript(path string) (*Suite, error) {
	if !strings.HasSuffix(path, ".mcpcap") {
		return ReadSuite(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c, err := record.ReadCapture(file)
	if err != nil {
		return nil, i18n.Errorf("%s: %w", "%s：%w", path, err)
	}
	return ParseSuite(path, SuiteFrom(nil, c.Turns()))
}

// SuiteFrom writes a test file from real calls. Each distinct call appears
// once, with a snapshot of its result or with its error, and with the answers
// to the server's questions.
func SuiteFrom(target *history.RunTarget, turns []record.Turn) []byte {
	var out bytes.Buffer
	writeTarget(&out, target)
	out.WriteString("tests:\n")
	seen := make(map[string]int)
	for i := range turns {
		t := &turns[i]
		kind, subject, args := subjectOf(t)
		if kind == "" || t.FromServer || jsonrpc.Get(t.Params, "inputResponses") != nil {
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
		writeTest(&out, t, kind, subject, name, args, answersTo(turns[i:]))
	}
	return out.Bytes()
}

// writeTarget writes the target of the tests.
func writeTarget(out *bytes.Buffer, t *history.RunTarget) {
	switch {
	case t == nil:
		out.WriteString("# set target, url or command\n")
	case len(t.Command) > 0:
		var list []string
		for _, word := range t.Command {
			list = append(list, string(jsonrpc.Quote(word)))
		}
		fmt.Fprintf(out, "command: [%s]\n", strings.Join(list, ", "))
	case t.URL != "":
		fmt.Fprintf(out, "url: %s\n", scalar(t.URL))
	case t.Server != "":
		fmt.Fprintf(out, "target: %s\n", scalar(t.Server))
	default:
		out.WriteString("target: .\n")
	}
	if t != nil && t.Protocol != "" && t.Protocol != "auto" {
		fmt.Fprintf(out, "protocol: %s\n", scalar(t.Protocol))
	}
}

// answersTo returns the answers to the server's questions during the first of
// turns: as JSON, by the kind of the question.
func answersTo(turns []record.Turn) []byte {
	answers := []byte(`{}`)
	first := &turns[0]
	for i := range turns[1:] {
		t := &turns[1+i]
		switch replies := jsonrpc.Get(t.Params, "inputResponses"); {
		case t.FromServer:
			answers = addAnswer(answers, t.Method, t.Result)
		case replies != nil && t.Method == first.Method && probe.SubjectOf(t.Params) == probe.SubjectOf(first.Params):
			for key, reply := range jsonrpc.Members(replies) {
				method, _ := jsonrpc.GetString(first.Result, "inputRequests", key, "method")
				answers = addAnswer(answers, method, reply)
			}
		default:
			return answers
		}
	}
	return answers
}

// addAnswer adds an answer in the form in which a user writes it.
func addAnswer(answers []byte, method string, result json.RawMessage) []byte {
	kind := (&probe.Question{Method: method}).Kind()
	value := []byte(result)
	switch action, _ := jsonrpc.GetString(result, "action"); {
	case method == mcp.MethodElicit && action == "accept" && jsonrpc.Get(result, "content") != nil:
		value = jsonrpc.Get(result, "content")
	case method == mcp.MethodElicit && action != "":
		value = jsonrpc.Quote(action)
	case method == mcp.MethodSampling:
		if text, ok := jsonrpc.GetString(result, "content", "text"); ok {
			value = jsonrpc.Quote(text)
		}
	case method != mcp.MethodElicit:
		return answers // roots come from the command line
	}
	if len(value) == 0 {
		return answers
	}
	return jsonrpc.Set(answers, value, kind)
}

func subjectOf(t *record.Turn) (kind, subject string, args json.RawMessage) {
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

func writeTest(out *bytes.Buffer, t *record.Turn, kind, subject, name string, args json.RawMessage, answers []byte) {
	fmt.Fprintf(out, "  - name: %s\n    %s: %s\n", scalar(name), kind, scalar(subject))
	if len(args) > 0 && string(args) != "{}" {
		fmt.Fprintf(out, "    args: %s\n", compact(args)) // JSON is YAML
	}
	if len(answers) > len(`{}`) {
		fmt.Fprintf(out, "    answer: %s\n", compact(answers))
	}
	if t.Err != nil {
		fmt.Fprintf(out, "    expect: { error: %s }\n", jsonrpc.Get(t.Err, "code"))
		return
	}
	failed := mcp.IsToolError(t.Result)
	fmt.Fprintf(out, "    expect: { is_error: %v, snapshot: { ignore: [] } }\n", failed)
}

// scalar quotes a text for YAML if necessary.
func scalar(s string) string {
	raw, err := yaml.Marshal(s)
	if err != nil || bytes.Contains(bytes.TrimSpace(raw), []byte("\n")) {
		return string(jsonrpc.Quote(s))
	}
	return strings.TrimSpace(string(raw))
}
