package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A parrot answers calls as their arguments want it, the same each time.
type parrot struct {
	modern bool
	mu     sync.Mutex
	got    []string
	// serve answers instead, where it does.
	serve   func(p *parrot, w http.ResponseWriter, r *http.Request, method string, body []byte) bool
	answers chan struct{} // that it got
	greeted atomic.Int32
}

// swap makes it one of the other era.
func (p *parrot) swap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.modern = !p.modern
}

// refuses answers a request of the other era.
func (p *parrot) refuses(w http.ResponseWriter, r *http.Request, method string, id []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	spoken := r.Header.Get("MCP-Protocol-Version") == mcp.V2026_07_28
	switch {
	case p.modern == spoken:
		return false
	case spoken:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"another era","data":{"supported":["2025-11-25"]}}}`, id)
	case method == mcp.MethodInitialize:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"another era"}}`, id)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	return true
}

// take returns the calls that it got since.
func (p *parrot) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.got
	p.got = nil
	return got
}

const parrotTools = `{"resultType":"complete","tools":[{"name":"say","inputSchema":{"type":"object"}},` +
	`{"name":"header","inputSchema":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"X"}}}}]}`

func (p *parrot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := jsonrpc.Get(body, "id")
	if r.Method != http.MethodPost || id == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	method, _ := jsonrpc.GetString(body, "method")
	if p.refuses(w, r, method, id) {
		return
	}
	if p.serve != nil && p.serve(p, w, r, method, body) {
		return
	}
	answer := `"result":{}`
	switch method {
	case mcp.MethodInitialize:
		p.greeted.Add(1)
		answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"parrot","version":"1"}}`
	case mcp.MethodDiscover:
		answer = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
	case mcp.MethodToolsList:
		answer = `"result":` + parrotTools
	case mcp.MethodToolsCall:
		params := jsonrpc.Get(body, "params")
		p.mu.Lock()
		p.got = append(p.got, fmt.Sprint(r.Header["Mcp-Method"], r.Header["Mcp-Name"], r.Header["Mcp-Param-X"], string(params)))
		p.mu.Unlock()
		var before string
		if before, answer = squawk(params); before != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n\n", before, id, answer)
			return
		}
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, answer)
}

// squawk is the answer to a call, and what is said before it.
func squawk(params []byte) (before, answer string) {
	var c struct {
		Arguments struct{ Way string }
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	_ = json.NewDecoder(bytes.NewReader(params)).Decode(&c)
	failed := func(code int, data string) string {
		return fmt.Sprintf(`"error":{"code":%d,"message":"no","data":%s}`, code, data)
	}
	const text = `{"type":"text","text":"hello"}`
	switch c.Arguments.Way {
	case "log":
		return `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"d"}}`, `"result":{"content":[` + text + `]}`
	case "progress":
		if len(c.Meta.ProgressToken) > 0 {
			return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":` + string(c.Meta.ProgressToken) + `}}`, `"result":{"content":[]}`
		}
	case "fail":
		return "", `"result":{"content":[` + text + `],"isError":true}`
	case "none":
		return "", failed(mcp.CodeResourceNotFound, `{"uri":"a:b"}`)
	case "url":
		return "", failed(mcp.CodeElicitURL, `{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.com","message":"m"}]}`)
	case "reserved":
		return "", failed(-32050, `{"reason":"overloaded"}`)
	case "own":
		return "", failed(-7, `null`)
	case "params":
		return "", failed(jsonrpc.CodeInvalidParams, `{}`)
	case "ask":
		return "", `"result":{"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"m"}}}}`
	case "stateless":
		return "", `"result":{"resultType":"input_required","inputRequests":{}}`
	case "big":
		return "", `"result":{"content":[{"type":"text","text":"` + strings.Repeat("large ", 10_000) + `"}]}`
	case "link":
		return "", `"result":{"content":[{"type":"resource_link","uri":"a:b","name":"n"}],"_meta":{"a":1}}`
	case "empty":
		return "", `"result":{}`
	case "weird":
		return "", `"result":{"resultType":"weird"}`
	}
	return "", `"result":{"content":[` + text + `],"structuredContent":{"a":1}}`
}
