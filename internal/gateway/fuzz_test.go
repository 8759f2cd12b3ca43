package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/servers"
)

// A relayServer is an MCP server over HTTP whose only tool answers with given
// bytes.
type relayServer struct{ result atomic.Pointer[[]byte] }

func (r *relayServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(req.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(body, &m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var result []byte
	switch m.Method {
	case mcp.MethodInitialize:
		result = []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"relay","version":"1"}}`)
	case mcp.MethodToolsList:
		result = []byte(`{"tools":[{"name":"relay","inputSchema":{"type":"object"}}]}`)
	case mcp.MethodPromptsList:
		result = []byte(`{"prompts":[{"name":"relay"}]}`)
	case mcp.MethodResourcesList:
		result = []byte(`{"resources":[{"uri":"relay:1","name":"relay"}]}`)
	case mcp.MethodTemplatesList:
		result = []byte(`{"resourceTemplates":[]}`)
	default:
		result = *r.result.Load()
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// newRelay returns a gateway in front of a relayServer, and a session that
// follows the specification.
func newRelay(tb testing.TB) (*relayServer, *Session) {
	tb.Helper()
	server := &relayServer{}
	server.result.Store(&[]byte{'{', '}'})
	front := httptest.NewServer(server)
	tb.Cleanup(front.Close)
	path := must.Write(tb, filepath.Join(tb.TempDir(), "mcp.json"), fmt.Appendf(nil, `{"mcpServers":{"s":{"type":"http","url":%q,"protocol":"legacy"}}}`, front.URL))
	cfg, err := config.Load(config.LoadOptions{Path: path})
	if err != nil {
		tb.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	set := servers.NewSet(tb.Context(), upstream.Options{
		Log: log, Limits: &cfg.Limits, Info: []byte(`{"name":"fuzz","version":"1"}`),
		Roots:  func() []config.Root { return nil },
		Memory: memory.Open(filepath.Join(tb.TempDir(), "memory.json")),
	})
	g := New(Options{Set: set, Log: log, Info: mcp.Implementation{Name: "fuzz", Version: "1"}})
	set.Apply(cfg, nil)
	tb.Cleanup(func() {
		g.Close()
		set.Close(context.Background())
	})
	s := opened(tb, g, Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Session: true, Client: silent{}})
	hello := &jsonrpc.Request{Method: mcp.MethodInitialize, Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}`)}
	if _, err := s.Handle(tb.Context(), silent{}, hello); err != nil {
		tb.Fatal(err)
	}
	return server, s
}

// silent is a client that is never asked.
type silent struct{}

func (silent) Call(context.Context, *jsonrpc.Request) (*jsonrpc.Response, error) {
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "silent")
}
func (silent) Notify(context.Context, *jsonrpc.Notification) error { return nil }

// ofVersions are the members that are not relayed to clients of versions
// without them.
var ofVersions = []string{"resultType", "ttlMs", "cacheScope", "structuredContent"}

// FuzzRelay checks that any valid result is relayed unchanged, and that one that
// is not an object is an error of the server.
func FuzzRelay(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"content":[{"type":"text","text":"x"}]}`, `{"content":[],"isError":true,"_meta":{"a":1.0,"b":-0,"c":1e400}}`,
		"{\n \"content\" : [ ]\t}", `{"content":[{"type":"hologram","n":9007199254740993}]}`, `{"a":"\u0041\ud83d\ude00\/"}`, `{"\u0069sError":false}`,
		`[]`, `null`, `"text"`, `{"uri":"relay:1","contents":[{"uri":"relay:1"}]}`, `{"id":7,"jsonrpc":"3.0","error":{}}`,
	} {
		f.Add([]byte(seed))
	}
	server, s := newRelay(f)
	f.Fuzz(func(t *testing.T, result []byte) {
		if len(result) > 1<<20 || !jsonrpc.Valid(result) || result[0] <= ' ' || result[len(result)-1] <= ' ' {
			return
		}
		if result[0] == '{' {
			for _, name := range ofVersions {
				if jsonrpc.Get(result, name) != nil {
					return
				}
			}
		}
		server.result.Store(&result)
		for method, params := range map[string]string{
			mcp.MethodToolsCall: `{"name":"s__relay","arguments":{}}`, mcp.MethodPromptsGet: `{"name":"s__relay"}`, mcp.MethodResourcesRead: `{"uri":"relay:1"}`,
		} {
			resp, err := s.Handle(t.Context(), silent{}, &jsonrpc.Request{Method: method, Params: []byte(params)})
			if result[0] != '{' {
				if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || !strings.Contains(string(wire.Data), string(mcp.UpstreamProtocol)) {
					t.Fatalf("%s: %v for %q", method, err, result)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v for %q", method, err, result)
			}
			if string(resp.Result) != string(result) {
				t.Fatalf("%s: got %q, want %q", method, resp.Result, result)
			}
			resp.Release()
		}
	})
}

// FuzzDispatch checks that any request of a client has one outcome, which is
// JSON.
func FuzzDispatch(f *testing.F) {
	for _, method := range []string{
		"ping", "tools/list", "tools/call", "resources/list", "resources/read", "resources/subscribe", "resources/unsubscribe", "resources/templates/list",
		"prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "roots/list", "sampling/createMessage", "elicitation/create", "initialize",
		"server/discover", "tasks/get", "rpc.discover", "", "x/y",
	} {
		for _, params := range []string{
			``, `{}`, `{"cursor":7}`, `{"name":"s__relay","arguments":[]}`, `{"uri":"javascript:1"}`, `{"ref":{"type":"ref/prompt"},"argument":{}}`,
			`{"_meta":{"progressToken":{}}}`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`,
			`{"taskId":"s~1"}`, `{"level":null}`, `{"requestState":"x","name":"s__relay"}`,
		} {
			f.Add(method, []byte(params))
		}
	}
	_, s := newRelay(f)
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		if method == mcp.MethodListen || method == mcp.MethodShutdown || len(params) > 1<<16 {
			return // one never ends, the other ends the session
		}
		if len(params) > 0 && (!jsonrpc.Valid(params) || params[0] != '{' && params[0] != '[') {
			return // refused before dispatch
		}
		resp, err := s.Handle(t.Context(), silent{}, &jsonrpc.Request{Method: method, Params: params})
		switch {
		case (resp == nil) == (err == nil):
			t.Fatalf("%q %s: both or neither of a response and an error", method, params)
		case err == nil && resp.Err == nil && !jsonrpc.Valid(resp.Result):
			t.Fatalf("%q %s: result %q is not JSON", method, params, resp.Result)
		}
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && !jsonrpc.Valid(jsonrpc.AppendError(nil, wire)) {
			t.Fatalf("%q %s: error is not JSON", method, params)
		}
	})
}
