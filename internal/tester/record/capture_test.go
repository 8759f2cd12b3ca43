package record

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/probe"
)

// recordDemo records a conversation with the demo server.
func recordDemo(t *testing.T, protocol string) *Capture {
	t.Helper()
	var file bytes.Buffer
	w := NewCaptureWriter(&file, "demo")
	answers := &probe.Script{Values: map[string]json.RawMessage{"elicitation": json.RawMessage(`{"name":"Ann"}`)}}
	s := mustOpen(t, inMemory(t, mcpserver.Demo()), probe.Options{Protocol: protocol, Answer: answers, OnFrame: w.Write})
	mustCall(t, s, mcp.MethodToolsCall, `{"name":"echo","arguments":{"message":"one"}}`)
	mustCall(t, s, mcp.MethodToolsCall, `{"name":"echo","arguments":{"message":"two"}}`)
	mustCall(t, s, mcp.MethodToolsCall, `{"name":"ask_name"}`)
	s.Close(t.Context())
	must.OK(t, w.Err())
	c, err := ReadCapture(&file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReplay(t *testing.T) {
	for _, protocol := range []string{mcp.LatestLegacy, mcp.LatestModern} {
		t.Run(protocol, func(t *testing.T) {
			c := recordDemo(t, protocol)
			if got := c.Protocol(); got != protocol {
				t.Errorf("the recording speaks %q", got)
			}
			s := mustOpen(t, inMemory(t, mcpserver.Demo()), probe.Options{Protocol: protocol, Answer: NewReplayAnswers(c)})
			results, err := Replay(t.Context(), s, c, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			sent := 0
			for i := range results {
				if !results[i].Same() {
					t.Errorf("%s: %v", results[i].In(i18n.English), results[i].Differences)
				}
				if results[i].Skipped == "" {
					sent++
				}
			}
			if sent != 3 {
				t.Errorf("%d requests were sent again, want 3", sent)
			}
		})
	}
}

func TestReplayFindsDifferences(t *testing.T) {
	c := recordDemo(t, mcp.LatestLegacy)
	other := mcpserver.Demo()
	other.SetTools(mcpserver.EchoTool())
	s := mustOpen(t, inMemory(t, other), probe.Options{Protocol: "legacy", Answer: NewReplayAnswers(c)})
	results, err := Replay(t.Context(), s, c, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := results[len(results)-1]
	if last.Name != "ask_name" || last.Same() {
		t.Errorf("a tool that is gone counts as the same: %+v", last)
	}
}

func TestMock(t *testing.T) {
	m := NewMock(recordDemo(t, mcp.LatestLegacy))
	ask := func(method, params string) (string, error) {
		resp, err := m.Handle(t.Context(), nil, &jsonrpc.Request{Method: method, Params: []byte(params)})
		if err != nil {
			return "", err
		}
		return probe.TextOf(resp.Result), nil
	}
	for params, want := range map[string]string{
		`{"name":"echo","arguments":{"message":"two"},"_meta":{"progressToken":9}}`: "two",
		`{"arguments":{"message":"one"},"name":"echo"}`:                             "one",
	} {
		if got, err := ask(mcp.MethodToolsCall, params); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", params, got, err, want)
		}
	}
	t.Run("true/15 other arguments", func(t *testing.T) {
		got, err := ask(mcp.MethodToolsCall, `{"name":"echo","arguments":{"message":"three"}}`)
		if err == nil || !strings.Contains(err.Error(), `it has echo with {"message":"one"}, {"message":"two"}`) {
			t.Errorf("%q, %v, want an error that names what was recorded", got, err)
		}
	})
	t.Run("true/15 no arguments are empty ones", func(t *testing.T) {
		for _, params := range []string{`{"name":"ask_name"}`, `{"name":"ask_name","arguments":{}}`} {
			if got, err := ask(mcp.MethodToolsCall, params); err != nil || got == "" {
				t.Errorf("%s: %q, %v", params, got, err)
			}
		}
	})
	for _, method := range []string{mcp.MethodToolsCall, "unknown/method"} {
		if got, err := ask(method, `{"name":"none"}`); err == nil {
			t.Errorf("%s of what was not recorded: %q", method, got)
		}
	}
	if _, err := ask(mcp.MethodPing, ``); err != nil {
		t.Error(err)
	}
}

func TestNotACapture(t *testing.T) {
	for _, text := range []string{"", "{}", "hello", `{"mcpcap":99}`, "{\"mcpcap\":1}\n{"} {
		if _, err := ReadCapture(strings.NewReader(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestLoad(t *testing.T) {
	s := mustOpen(t, inMemory(t, mcpserver.Demo()), probe.Options{Protocol: "legacy"})
	r := probe.Load(t.Context(), s, probe.LoadOptions{Parallel: 4, Count: 100, Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"echo","arguments":{"message":"x"}}`)})
	total := 0
	for _, b := range r.Histogram {
		total += b.Count
	}
	if r.Calls != 100 || r.Errors != 0 || total != 100 || r.P50 > r.P99 || r.P99 > r.Max {
		t.Errorf("%+v", r)
	}
	r = probe.Load(t.Context(), s, probe.LoadOptions{Parallel: 2, Duration: 50 * time.Millisecond, Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"none"}`)})
	if r.Calls == 0 || r.Errors != r.Calls || len(r.Problems) != 1 {
		t.Errorf("%+v", r)
	}
}
