package upstream_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/memory"
)

// A replier answers every question of a server, and counts the questions.
type replier struct {
	answers map[string]string
	asked   chan string
}

func newReplier(roots ...string) *replier {
	list := `{"uri":"file:///` + strings.Join(roots, `"},{"uri":"file:///`) + `"}`
	return &replier{asked: make(chan string, 100), answers: map[string]string{
		mcp.MethodElicit:    `{"action":"accept","content":{"name":"Ada"}}`,
		mcp.MethodSampling:  `{"role":"assistant","model":"m","content":{"type":"text","text":"yes"}}`,
		mcp.MethodRootsList: `{"roots":[` + list + `]}`,
	}}
}

func (r *replier) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	r.asked <- req.Method
	return &jsonrpc.Response{Result: []byte(r.answers[req.Method])}, nil
}

func (r *replier) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

// serveHTTP runs a server of mcptest and returns its configuration.
func serveHTTP(t *testing.T, name string, s *mcpserver.Server) *config.Server {
	t.Helper()
	handler, stop := s.HTTP("")
	host := httptest.NewServer(handler)
	t.Cleanup(func() { stop(); host.Close() })
	return remote(name, host.URL+"/mcp")
}

// TestOldQuestions uses a server that speaks both eras, names one of them, and can
// ask only in the other.
func TestOldQuestions(t *testing.T) {
	offer := mcp.Offer{Elicit: true}
	old := func() *mcpserver.Server { s := mcpserver.Demo(); s.OldQuestions = true; return s }
	t.Run("true/2 a legacy client has the legacy side", func(t *testing.T) {
		w := newWorld(t, worldOptions{}, serveHTTP(t, "a", old()))
		w.state("a", upstream.Ready)
		c := clientOf(mcp.Legacy)
		c.Offer = offer
		if text, err := w.ask(c, newReplier(), "a", "ask_name", `{}`); text != "Hello, Ada!" {
			t.Errorf("%q, %v", text, err)
		}
	})
	for name, greeting := range map[string]*upstream.Greeting{"over HTTP": nil, "on stdio": upstream.NewGreeting("local")} {
		t.Run("true/2 a modern client "+name+" has it from the first refusal on", func(t *testing.T) {
			server := old()
			calls := 0
			server.OnCall = func(string, json.RawMessage) { calls++ }
			entry, memory := serveHTTP(t, "a", server), memory.Open("")
			c := clientOf(mcp.Modern)
			c.Offer, c.Session = offer, ""
			if greeting != nil {
				greeting.Set(c)
			}
			w := newWorld(t, worldOptions{greeting: greeting, memory: memory}, entry)
			w.state("a", upstream.Ready)
			w.echoAs(c, "a")
			if text, err := w.ask(c, newReplier(), "a", "ask_name", `{}`); !strings.Contains(text, "server-initiated requests is unavailable") || calls != 2 {
				t.Errorf("the first call: %q, %v, ran %d", text, err, calls-1)
			}
			if text, err := w.ask(c, newReplier(), "a", "ask_name", `{}`); text != "Hello, Ada!" || calls != 3 {
				t.Errorf("the next one: %q, %v, ran %d", text, err, calls-2)
			}
			again := newWorld(t, worldOptions{greeting: greeting, memory: memory}, entry)
			again.state("a", upstream.Ready)
			if text, err := again.ask(c, newReplier(), "a", "ask_name", `{}`); text != "Hello, Ada!" {
				t.Errorf("after a restart: %q, %v", text, err)
			}
		})
	}
	t.Run("true/2 a tool that speaks of such requests is no sign", func(t *testing.T) {
		w := newWorld(t, worldOptions{}, serveHTTP(t, "a", mcpserver.Demo()))
		w.state("a", upstream.Ready)
		c := clientOf(mcp.Modern)
		if _, err := w.ask(c, nil, "a", "echo", `{"message":"server-initiated requests are unavailable on 2026-07-28"}`); err != nil {
			t.Error(err)
		}
		c.Offer = offer
		r := newReplier()
		if text, err := w.ask(c, r, "a", "ask_name", `{}`); !strings.Contains(text, "input_required") {
			t.Errorf("it left the modern side: %q, %v", text, err)
		}
	})
}
