package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// An upstreamServer is a small HTTP server that records all requests. It
// answers the tool "fail" with an error and all others with a text.
type upstreamServer struct {
	*httptest.Server
	mu   sync.Mutex
	seen bytes.Buffer
	evil string // added to the definition of "good"
}

func newUpstreamServer(t *testing.T) *upstreamServer {
	t.Helper()
	u := &upstreamServer{}
	u.Server = httptest.NewServer(http.HandlerFunc(u.serve))
	t.Cleanup(u.Close)
	return u
}

func (u *upstreamServer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	fmt.Fprintf(&u.seen, "%s %s %v\n%s\n", r.Method, r.URL, r.Header, body)
	u.mu.Unlock()
	id := jsonrpc.Get(body, "id")
	if r.Method != http.MethodPost || id == nil {
		w.WriteHeader(map[bool]int{true: http.StatusAccepted, false: http.StatusMethodNotAllowed}[r.Method == http.MethodPost])
		return
	}
	answer := `"result":{"content":[{"type":"text","text":"ok"}]}`
	switch method, _ := jsonrpc.GetString(body, "method"); method {
	case "initialize":
		answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"up","version":"1"}}`
	case "tools/list":
		u.mu.Lock()
		extra := u.evil
		u.mu.Unlock()
		answer = `"result":{"tools":[{"name":"good"` + extra + `,"inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		if name, _ := jsonrpc.GetString(body, "params", "name"); name == "fail" {
			answer = `"error":{"code":-32050,"message":"no"}`
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, answer)
}

func (u *upstreamServer) received() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen.String()
}

// spansOf starts a collector that records the bodies it receives.
func spansOf(t *testing.T) (url string, bodies func() string) {
	t.Helper()
	var mu sync.Mutex
	var all bytes.Buffer
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&all, r.Body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

// ask sends a request as an MCP client does, with a further header of
// alternating names and values, and returns the status and the body.
func ask(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	header = append([]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}, header...)
	resp, text := must.Answer(t, http.DefaultClient, must.Request(t, method, url, body, header...))
	return resp.StatusCode, text
}

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestObserved compares the metrics, traces and audit trail of the same calls,
// on a gateway with keys.
func TestObserved(t *testing.T) {
	t.Parallel()
	up := newUpstreamServer(t)
	collector, spans := spansOf(t)
	dir := t.TempDir()
	keys, err := access.OpenKeys(filepath.Join(dir, "keys.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := keys.Create("ann", access.Grant{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bound, _, err := keys.Create("bound", access.Grant{Servers: []string{"other"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	scraper, _, err := keys.Create("scraper", access.Grant{Admin: true, ReadOnly: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	trail := filepath.Join(dir, "audit.jsonl")
	gw := mcptest.Gateway(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q,"type":"http","protocol":"legacy"}},
		"access":{"keys":%q},"audit":{"file":%q},"tracing":{"url":%q}}`, up.URL, filepath.Join(dir, "keys.json"), trail, collector))
	mine := []string{"Authorization", "Bearer " + key, "Cookie", "session=cookie-canary", "X-Api-Key", "api-key-canary", "Proxy-Authorization", "proxy-canary"}
	for _, name := range []string{"up__good", "up__good", "up__fail", "up__absent"} {
		status, body := ask(t, http.MethodPost, gw.URL+"/mcp", fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"secret":"argument-canary"},"_meta":{"traceparent":%q}}}`, name, traceparent), mine...)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, status, body)
		}
	}

	t.Run("metrics need a key that may look at everything", func(t *testing.T) {
		if status, _ := ask(t, http.MethodGet, gw.URL+"/metrics", ""); status != http.StatusUnauthorized {
			t.Errorf("without a key: %d", status)
		}
		if status, _ := ask(t, http.MethodGet, gw.URL+"/metrics", "", "Authorization", "Bearer "+bound); status != http.StatusForbidden {
			t.Errorf("with a key for another server: %d", status)
		}
		if status, _ := ask(t, http.MethodGet, gw.URL+"/metrics", "", "Authorization", "Bearer "+key); status != http.StatusForbidden {
			t.Errorf("with a plain key: %d", status)
		}
	})
	_, page := ask(t, http.MethodGet, gw.URL+"/metrics", "", "Authorization", "Bearer "+scraper)
	t.Run("metrics", func(t *testing.T) {
		if problems, err := promlint.New(strings.NewReader(page)).Lint(); err != nil || len(problems) > 0 {
			t.Errorf("Prometheus says %v, %v", problems, err)
		}
		for _, line := range []string{
			`mcp_gateway_server_up{schema="default",server="up"} 1`,
			`mcp_gateway_server_calls_total{server="up"} 3`,
			`mcp_gateway_tool_calls_total{server="up",tool="good"} 2`,
			`mcp_gateway_server_errors_total{server="up",reason="error -32050"} 1`,
			`mcp_gateway_server_call_duration_seconds_count{server="up"} 3`,
			`mcp_gateway_server_restarts_total{schema="default",server="up"} 0`,
			`mcp_gateway_client_calls_total 4`,
		} {
			if !strings.Contains(page, line+"\n") {
				t.Errorf("no line %s in\n%s", line, page)
			}
		}
	})

	gw.Signal(os.Interrupt)
	gw.Wait(20 * time.Second)
	t.Run("audit", func(t *testing.T) {
		raw := must.Read(t, trail)
		var got []string
		for line := range strings.Lines(raw) {
			var e struct{ Principal, Server, Method, Name, Outcome, Arguments, Trace string }
			must.Parse(t, line, &e)
			if !strings.HasPrefix(e.Principal, "key:") || e.Method != "tools/call" || len(e.Arguments) != 64 || e.Trace != traceparent[3:35] {
				t.Errorf("entry %s", line)
			}
			got = append(got, e.Server+" "+e.Name+" "+e.Outcome)
		}
		if want := "up up__good ok|up up__good ok|up up__fail error| up__absent error"; strings.Join(got, "|") != want {
			t.Errorf("audit %v, want %s", got, want)
		}
	})
	t.Run("traces", func(t *testing.T) {
		text := spans()
		if n := strings.Count(text, `"traceId":"`+traceparent[3:35]+`"`); n != 7 {
			t.Errorf("%d spans, want four of the client's calls and three to the server", n)
		}
		if !strings.Contains(text, `"parentSpanId":"`+traceparent[36:52]+`"`) {
			t.Error("no span is a child of the client's")
		}
	})
	t.Run("traceparent is passed on untouched", func(t *testing.T) {
		if n := strings.Count(up.received(), `"traceparent":"`+traceparent+`"`); n != 3 {
			t.Errorf("the server got it %d times", n)
		}
	})
	t.Run("corpus/A14", func(t *testing.T) {
		for _, canary := range []string{key, "cookie-canary", "api-key-canary", "proxy-canary"} {
			if strings.Contains(up.received(), canary) {
				t.Errorf("the server was sent %s", canary)
			}
		}
	})
	t.Run("fault/T33", func(t *testing.T) {
		raw, _ := os.ReadFile(trail)
		all := page + string(raw) + spans() + gw.Stderr()
		for _, canary := range []string{key, "cookie-canary", "api-key-canary", "proxy-canary", "argument-canary"} {
			if strings.Contains(all, canary) {
				t.Errorf("%s is shown", canary)
			}
		}
	})
}

func TestMetricsSwitchedOff(t *testing.T) {
	t.Parallel()
	gw := mcptest.Gateway(t, `{"mcpServers":{},"metrics":{"enabled":false}}`)
	if status, _ := ask(t, http.MethodGet, gw.URL+"/metrics", ""); status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
}
