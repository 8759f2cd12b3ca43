package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
)

// round is a response to a modern client.
type round struct {
	ResultType    string
	RequestState  string
	InputRequests map[string]struct {
		Method string
		Params json.RawMessage
	}
}

// modern calls a tool as a modern client does; more is added to the params.
func (s *settings) modern(tool, arguments, more string) (round, string) {
	s.t.Helper()
	s.next++
	m := s.Ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"mcp-all-in-one-%s","arguments":%s%s,"_meta":{%q:%q,%q:{"elicitation":{}}}}}`,
		s.next, tool, arguments, more, mcp.MetaVersion, mcp.LatestModern, mcp.MetaCapabilities))
	var r round
	if m.Error != nil || json.Unmarshal(m.Result, &r) != nil {
		s.t.Fatalf("got %s", m.Raw)
	}
	return r, m.Raw
}

// TestApprovalByModernClient lets the user of a modern client approve a server:
// the call returns the question, and is repeated with the answer.
func TestApprovalByModernClient(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, answer string
		starts       bool
	}{
		{"accepted", `{"action":"accept","content":{"approve":true}}`, true},
		{"declined", `{"action":"decline"}`, false},
		{"accepted without a yes", `{"action":"accept","content":{"approve":false}}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := settingsOf(t, "")
			arguments := `{"name":"wanted",` + s.touch() + `}`
			asked, raw := s.modern("add-mcp-server", arguments, "")
			if asked.ResultType != "input_required" || len(asked.InputRequests) != 1 || asked.RequestState == "" {
				t.Fatalf("no question: %s", raw)
			}
			for key, q := range asked.InputRequests {
				if q.Method != mcp.MethodElicit || !strings.Contains(string(q.Params), s.marker) {
					t.Errorf("the question does not show the whole command: %s", raw)
				}
				answered, raw := s.modern("add-mcp-server", arguments, fmt.Sprintf(`,"inputResponses":{%q:%s},"requestState":%q`, key, tt.answer, asked.RequestState))
				if answered.ResultType == "input_required" || !strings.Contains(raw, "success") {
					t.Errorf("after the answer: %s", raw)
				}
			}
			if tt.starts {
				waitFor(t, s.marker)
				return
			}
			if v := s.validated(); !strings.Contains(v, "waits for approval") {
				t.Errorf("it does not wait: %s", v)
			}
			s.Finish(20 * time.Second)
			s.neverRan(t)
		})
	}
}

func (s *settings) validated() string {
	_, raw := s.modern("validate-mcp-config", `{}`, "")
	return raw
}

// TestSelfConfigurationBesideHangingServer uses the tools while a server
// neither answers nor ends, because the tools are needed to remove it.
func TestSelfConfigurationBesideHangingServer(t *testing.T) {
	t.Parallel()
	s := settingsOf(t, `,"hangs":{"command":"sleep","args":["600"]}`)
	s.Initialize("2025-06-18", `{"elicitation":{}}`)
	start := time.Now()
	for tool, arguments := range map[string]string{"show-mcp-config": `{}`, "validate-mcp-config": `{}`, "show-mcp-config-schema": `{}`} {
		if text, isError := s.run(tool, arguments); isError {
			t.Errorf("%s: %s", tool, text)
		}
	}
	s.attempt("remove-mcp-server", `{"name":"hangs","apply":true}`, `{"action":"accept","content":{"approve":true}}`)
	// startWait is a minute here, and none of the tools needs the servers.
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the tools waited %v for a server that hangs", took)
	}
	if strings.Contains(s.file(), "hangs") {
		t.Error("the server was not removed")
	}
}
