package gateway_test

import (
	"bytes"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
)

// TestNamesOutliveTheRequest checks that recorded and observed names are
// copies: the buffer of a request is reused for the next one.
func TestNamesOutliveTheRequest(t *testing.T) {
	record := traffic.New(traffic.Options{})
	var observed []string
	s := watchedSession(t, smallResult, gateway.Options{Traffic: record, Observe: func(o *traffic.Observation) {
		observed = append(observed, o.Name)
	}})
	params := bytes.Clone(callEcho.Params)
	if _, err := s.Handle(t.Context(), nil, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: params}); err != nil {
		t.Fatal(err)
	}
	for i := range params {
		params[i] = 'x'
	}
	if len(observed) != 2 || observed[0] != "echo" || observed[1] != "up__echo" {
		t.Errorf("observed %q", observed)
	}
	calls, _ := record.List(nil, 0, 10)
	if len(calls) != 2 || calls[0].Name != "echo" || calls[1].Name != "up__echo" {
		t.Errorf("recorded %+v", calls)
	}
}

// TestBothHopsAreRecorded checks both hops of a call, as the console shows
// them.
func TestBothHopsAreRecorded(t *testing.T) {
	record := traffic.New(traffic.Options{})
	s := watchedSession(t, `{"content":[],"isError":true}`, gateway.Options{Traffic: record})
	call(t, s)
	calls, _ := record.List(nil, 0, 10)
	if len(calls) != 2 {
		t.Fatalf("recorded %+v", calls)
	}
	below, root := calls[0], calls[1]
	if root.Hop != traffic.HopClient || root.Server != "up" || root.Status != traffic.StatusToolError || root.Total < below.Total ||
		root.Gateway+root.Transport+root.ServerTime != root.Total || root.ServerTime != below.ServerTime || root.Transport != below.Transport {
		t.Errorf("the client's hop: %+v", root)
	}
	if below.Hop != traffic.HopServer || below.Parent != root.ID || below.Status != traffic.StatusToolError || below.Total <= 0 ||
		below.Start.Before(root.Start) || len(below.Notes) != 1 {
		t.Errorf("the server's hop: %+v", below)
	}
}

// TestToolErrorsAreCounted checks that a tool error is found by the member
// isError, however it is written and wherever it is in the result.
func TestToolErrorsAreCounted(t *testing.T) {
	long := strings.Repeat("text ", 4000)
	for name, c := range map[string]struct {
		result string
		failed bool
	}{
		"as Python writes it":        {`{"content": [], "isError": true}`, true},
		"over several lines":         {"{\"content\": [],\n\t\"isError\"\n:\ttrue\n}", true},
		"in the middle":              {`{"content":[{"type":"text","text":"` + long + `"}],"isError":true,"structuredContent":{"t":"` + long + `"}}`, true},
		"no error":                   {`{"content":[],"isError":false}`, false},
		"in structured content":      {`{"content":[],"structuredContent":{"isError":true}}`, false},
		"in a text":                  {`{"content":[{"type":"text","text":"\"isError\":true"}]}`, false},
		"in the metadata":            {`{"content":[],"_meta":{"isError":true}}`, false},
		"with an escape in its name": {`{"content":[],"is\u0045rror":true}`, true},
	} {
		t.Run("true/7 "+name, func(t *testing.T) {
			record := traffic.New(traffic.Options{})
			s := watchedSession(t, c.result, gateway.Options{Traffic: record})
			call(t, s)
			want := traffic.StatusOK
			if c.failed {
				want = traffic.StatusToolError
			}
			calls, _ := record.List(nil, 0, 10)
			for _, c := range calls {
				if c.Status != want {
					t.Errorf("%s hop: %s, want %s", c.Hop, c.Status, want)
				}
			}
			for _, stat := range record.Stats() {
				if (stat.Errors > 0) != c.failed {
					t.Errorf("counted %+v", stat)
				}
			}
		})
	}
}

// TestAnswersAreNoRepeats checks that a call which a client repeats to answer its
// questions does not count as another call of the same tool.
func TestAnswersAreNoRepeats(t *testing.T) {
	record := traffic.New(traffic.Options{})
	s := watchedSession(t, smallResult, gateway.Options{Traffic: record})
	counted := func(calls, followed int) {
		t.Helper()
		if got, want := record.Repeats(mcp.MethodToolsCall)[config.DefaultSchema], (traffic.Repeated{Calls: calls, Followed: followed}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	call(t, s)
	for _, member := range []string{`"inputResponses":{}`, `"requestState":"s"`} {
		params := strings.Replace(string(callEcho.Params), "{", "{"+member+",", 1)
		if _, err := s.Handle(t.Context(), nil, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(params)}); err != nil {
			t.Fatal(err)
		}
		counted(1, 0)
	}
	call(t, s)
	counted(2, 1)
}
