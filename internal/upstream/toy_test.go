package upstream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mcp-all-in-one/internal/mcp"
)

// A toy is a small MCP server over HTTP. A test can replace each of its answers.
type toy struct {
	modern bool
	offers string // more capabilities, each after a comma
	both   bool   // it accepts initialize although it lists only a modern version

	mu      sync.Mutex
	inits   int
	refused string         // a method
	ran     map[string]int // tokens of tools/call that ran
	tools   string         // the list
	results []string       // results of the next tools/call
	// bend answers instead of the toy. It gets the method and how often the method
	// was called.
	bend  func(w http.ResponseWriter, r *http.Request, method string, n int) bool
	seen  map[string]int
	posts int
	away  bool // its host is down at first
}

func newToy() *toy {
	return &toy{ran: map[string]int{}, seen: map[string]int{}, tools: `{"name":"echo","inputSchema":{"type":"object"}}`}
}

type toyRequest struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		URI       string
		Arguments struct{ Message, Token string }
	}
}

func (y *toy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var req toyRequest
	if json.Unmarshal(body, &req) != nil || req.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	y.mu.Lock()
	y.posts++
	y.seen[req.Method]++
	n, bend := y.seen[req.Method], y.bend
	y.mu.Unlock()
	if bend != nil && bend(w, r, req.Method, n) {
		return
	}
	y.answer(w, &req)
}

func (y *toy) answer(w http.ResponseWriter, req *toyRequest) {
	y.mu.Lock()
	defer y.mu.Unlock()
	result := ""
	if req.Method == y.refused {
		fail(w, http.StatusOK, req.ID, -32000)
		return
	}
	switch req.Method {
	case "initialize":
		if y.modern && !y.both {
			fail(w, http.StatusNotFound, req.ID, -32601)
			return
		}
		y.inits++
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("session-%d", y.inits))
		result = `"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}` + y.offers + `},"serverInfo":{"name":"toy","version":"1"}`
	case "server/discover":
		if !y.modern {
			fail(w, http.StatusOK, req.ID, -32601)
			return
		}
		result = `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}`
	case "tools/list":
		result = `"tools":[` + y.tools + `]`
	case "resources/list":
		result = `"resources":[{"uri":"toy://one","name":"one"}]`
	case "resources/templates/list":
		result = `"resourceTemplates":[]`
	case "resources/subscribe", "resources/unsubscribe":
		y.ran["subscribe "+req.Params.URI]++
	case "tools/call":
		y.ran[req.Params.Arguments.Token]++
		result = fmt.Sprintf(`"content":[{"type":"text","text":%q}]`, req.Params.Arguments.Message+req.Params.Arguments.Token)
		if len(y.results) > 0 {
			result, y.results = y.results[0], y.results[1:]
		}
	default:
		fail(w, http.StatusNotFound, req.ID, -32601)
		return
	}
	if y.modern && !strings.Contains(result, "resultType") {
		result += `,"resultType":"complete"`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{%s}}`, req.ID, result)
}

func fail(w http.ResponseWriter, status int, id json.RawMessage, code int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"refused"}}`, id, code)
}

// set changes the toy while it serves.
func (y *toy) set(change func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	change()
}

// asked returns how often each method was called.
func (y *toy) asked() map[string]int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return maps.Clone(y.seen)
}

// answers sets the results of the next calls.
func (y *toy) answers(results ...string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.results = slices.Clone(results)
}

// greeted returns how often initialize was called.
func (y *toy) greeted() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.inits
}

func (y *toy) times(token string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.ran[token]
}

// A wire carries requests to handlers without a network, so that time can be
// simulated. A host that is down refuses connections.
type wire struct {
	handler func(host string) http.Handler
	down    atomic.Bool
	dialled func(host string)
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.dialled != nil {
		w.dialled(r.URL.Host)
	}
	if w.down.Load() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	w.handler(r.URL.Host).ServeHTTP(rec, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return rec.Result(), nil
}

func toWire(h http.Handler) *wire {
	return &wire{handler: func(string) http.Handler { return h }}
}

// pass lets simulated time pass.
func pass(d time.Duration) { <-time.After(d) }

// bendTo replaces bend and resets the counts.
func (y *toy) bendTo(bend func(http.ResponseWriter, *http.Request, string, int) bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	clear(y.seen)
	clear(y.ran)
	y.bend = nil
	if bend != nil {
		y.bend = func(w http.ResponseWriter, r *http.Request, method string, n int) bool {
			return method == mcp.MethodToolsCall && bend(w, r, method, n)
		}
	}
}
