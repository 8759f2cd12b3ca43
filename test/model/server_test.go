package model

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// The tools of every server. One is read-only; one has a name that looks like a
// tool of the server a.
const (
	writes    = "echo"
	readsOnly = "look"
	pretends  = "a/echo"
	prompt    = "greet"
)

var tools = []string{writes, readsOnly, pretends}

// A recorder is an MCP server that records the requests that reach it.
type recorder struct {
	*httptest.Server
	name string

	mu    sync.Mutex
	heard []string // method and name
}

func newRecorder(name string) *recorder {
	r := &recorder{name: name}
	r.Server = httptest.NewServer(r)
	return r
}

// taken returns the requests since its last call.
func (r *recorder) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.heard
	r.heard = nil
	return list
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name, URI string }
	}
	switch {
	case req.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case err != nil || json.Unmarshal(body, &m) != nil:
		w.WriteHeader(http.StatusBadRequest)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		answer := `"error":{"code":-32601,"message":"no"}`
		if result := r.result(m.Method, m.Params.Name+m.Params.URI); result != "" {
			answer = `"result":` + result
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+answer+`}`)
	}
}

func (r *recorder) result(method, subject string) string {
	switch method {
	case "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"recorder","version":"1"}}`
	case "tools/list":
		var list []string
		for _, t := range tools {
			more := ""
			if t == readsOnly {
				more = `,"annotations":{"readOnlyHint":true}`
			}
			list = append(list, `{"name":"`+t+`","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`+more+`}`)
		}
		return `{"tools":[` + strings.Join(list, ",") + `]}`
	case "prompts/list":
		return `{"prompts":[{"name":"` + prompt + `"}]}`
	case "resources/list":
		return `{"resources":[{"uri":"memo://` + r.name + `","name":"memo"}]}`
	case "resources/templates/list":
		return `{"resourceTemplates":[]}`
	case "ping":
		return `{}`
	case "server/discover": // sent by the gateway itself, to learn the eras of the server
		return ""
	}
	r.mu.Lock()
	r.heard = append(r.heard, method+" "+subject)
	r.mu.Unlock()
	switch method {
	case "tools/call":
		return `{"content":[{"type":"text","text":"it ran"}]}`
	case "prompts/get":
		return `{"messages":[{"role":"user","content":{"type":"text","text":"it ran"}}]}`
	case "resources/read":
		return `{"contents":[{"uri":"` + subject + `","text":"it ran"}]}`
	}
	return ""
}
