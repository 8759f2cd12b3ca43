package decisions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

// The tools of a server that is late: the first begins work, which goes on after the
// answer. During a call of the second, the server logs and asks because of that work,
// and says what became of its question. A call of the third logs and reports progress
// about itself.
const (
	toolBegin = "begin"
	toolWait  = "wait"
	toolTell  = "tell"
)

// A late is one connection to such a server.
type late struct {
	jsonrpc.Handler
	*work
	out jsonrpc.Peer // sends messages outside the calls
}

// A work is what a server goes on with, and where it sends its messages.
type work struct {
	mu   sync.Mutex
	text string
	to   jsonrpc.Peer
}

// lateServer returns a server of the legacy era with the tools.
func lateServer() *mcpserver.Server {
	s := mcpserver.New("late")
	s.Versions = []string{mcp.V2025_11_25}
	var tools []mcpserver.Tool
	for _, name := range []string{toolBegin, toolWait, toolTell} {
		tools = append(tools, mcpserver.Tool{Definition: fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)})
	}
	s.SetTools(tools...)
	return s
}

func (l *late) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	name, _ := jsonrpc.GetString(req.Params, "name")
	text, _ := jsonrpc.GetString(req.Params, "arguments", "text")
	log := func(to jsonrpc.Peer, text string) error {
		return to.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationMessage, Params: fmt.Appendf(nil, `{"level":"error","data":%q}`, text)})
	}
	said := ran
	switch {
	case req.Method != mcp.MethodToolsCall:
		return l.Handler.Handle(ctx, from, req)
	case name == toolBegin:
		l.mu.Lock()
		l.text, l.to = text, l.out
		l.mu.Unlock()
	case name == toolWait:
		l.mu.Lock()
		text, to := l.text, l.to
		l.mu.Unlock()
		if err := log(to, text); err != nil {
			return nil, err
		}
		resp, err := to.Call(ctx, &jsonrpc.Request{Method: mcp.MethodElicit, Params: fmt.Appendf(nil, `{"message":%q,"requestedSchema":{"type":"object","properties":{}}}`, text)})
		if err != nil {
			return nil, err
		}
		if said = string(resp.Result); resp.Err != nil {
			said = resp.Err.Message
		}
	case name == toolTell:
		progress := fmt.Appendf(nil, `{"progressToken":%s,"progress":1,"message":%q}`, jsonrpc.Get(req.Params, "_meta", "progressToken"), text)
		if err := from.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationProgress, Params: progress}); err != nil {
			return nil, err
		}
		if err := log(from, text); err != nil {
			return nil, err
		}
	}
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}]}`, said)}, nil
}

// A lateSession is a session of the server over HTTP.
type lateSession struct {
	*mcpserver.Session
	late *late
}

func (s lateSession) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return s.late.Handle(ctx, from, req)
}

// lateHTTP serves the server over HTTP. What it sends outside the calls is sent on the
// stream of the session.
func lateHTTP(t *testing.T) map[string]any {
	s, w := lateServer(), &work{}
	front := mcphttp.NewServer(mcphttp.ServerOptions{Open: func(_ context.Context, o *mcphttp.Opening) (mcphttp.Session, error) {
		session := s.Open(o.Client)
		return lateSession{session, &late{session, w, o.Client}}, nil
	}})
	host := httptest.NewServer(mcpserver.Routes(front))
	t.Cleanup(func() { front.Close(); host.Close() })
	return map[string]any{"url": host.URL + "/mcp", "type": "http"}
}

// A talker is a client that takes questions and log messages.
type talker struct {
	w   *world
	as  string
	era era
	h   http.Header
}

// asks is what a talker offers.
const asks = `{"elicitation":{"form":{}}}`

func (w *world) talker(as string, e era) *talker {
	c := &talker{w, as, e, firstHeader.Clone()}
	if e == modern {
		c.h.Set("Mcp-Protocol-Version", mcp.V2026_07_28)
		c.h.Set("Mcp-Method", mcp.MethodToolsCall)
		return c
	}
	status, h, body := w.do(http.MethodPost, "/mcp", as, c.h, []byte(mcptest.InitializeLine(mcp.V2025_11_25, asks)))
	if status != http.StatusOK {
		w.t.Fatalf("the session: %d %s", status, body)
	}
	c.h.Set("Mcp-Session-Id", h.Get("Mcp-Session-Id"))
	c.h.Set("Mcp-Protocol-Version", mcp.V2025_11_25)
	w.do(http.MethodPost, "/mcp", as, c.h, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return c
}

// call calls a tool, declines all questions, and returns the questions, the messages
// and the answer.
func (c *talker) call(name, text string) (asked, heard, answer string) {
	c.w.t.Helper()
	meta := map[string]any{"progressToken": "p"}
	if c.era == modern {
		c.h.Set("Mcp-Name", server+"__"+name)
		meta[mcp.MetaVersion], meta[mcp.MetaCapabilities], meta[mcp.MetaLogLevel] = mcp.V2026_07_28, json.RawMessage(asks), "debug"
		meta[mcp.MetaClientInfo] = map[string]string{"name": "decisions", "version": "1"}
	}
	params := map[string]any{"name": server + "__" + name, "arguments": map[string]any{"text": text}, "_meta": meta}
	ctx, cancel := context.WithTimeout(c.w.t.Context(), patience)
	defer cancel()
	resp, err := c.w.send(ctx, http.MethodPost, "/mcp", c.as, c.h, request(1, mcp.MethodToolsCall, params, legacy))
	if err != nil {
		c.w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		var raw json.RawMessage
		if err := json.NewDecoder(resp.Body).Decode(&raw); err != nil {
			c.w.t.Fatal(err)
		}
		return "", "", string(raw)
	}
	for events := mcptest.NewEvents(resp.Body); ; {
		e := events.Next()
		if e == nil {
			c.w.t.Fatalf("%s: the stream ended after %s", name, heard)
		}
		var m wire
		if json.Unmarshal([]byte(e.Data), &m) != nil {
			continue // the first event is empty
		}
		switch m.Method {
		case mcp.MethodElicit:
			asked += e.Data
			c.w.do(http.MethodPost, "/mcp", c.as, c.h, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, m.ID))
		case "":
			return asked, heard, e.Data
		default:
			heard += e.Data
		}
	}
}

// TestLateMessages lets a server that two keys use log and ask because of a call that
// it has answered, while a client has a call in flight.
func TestLateMessages(t *testing.T) {
	t.Parallel()
	const theirs = "about the work of ann"
	for _, tt := range []struct {
		name  string
		entry func(w *world) map[string]any
		era   era
	}{
		{"over a pipe", func(w *world) map[string]any { return w.entry(server, map[string]any{envLate: "1"}) }, legacy},
		{"over a pipe, modern client", func(w *world) map[string]any { return w.entry(server, map[string]any{envLate: "1"}) }, modern},
		{"over HTTP", func(w *world) map[string]any { return lateHTTP(w.t) }, legacy},
	} {
		open := func(t *testing.T) *world {
			t.Parallel()
			w := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil, keyAdmin: {"admin"}})
			w.start(map[string]any{"mcpServers": map[string]any{server: tt.entry(w)}})
			return w
		}
		t.Run("door/7 of another key "+tt.name, func(t *testing.T) {
			w := open(t)
			ann, bob := w.talker(keyAnn, legacy), w.talker(keyBob, tt.era)
			ann.call(toolBegin, theirs)
			asked, heard, answer := bob.call(toolWait, "")
			if strings.Contains(asked+heard, theirs) || strings.Contains(answer, "input_required") {
				t.Errorf("another key was asked %q, heard %q, answer %q", asked, heard, answer)
			}
			if !strings.Contains(answer, "Several keys or users share the connection") || !strings.Contains(answer, "a new session has a connection of its own") {
				t.Errorf("the server was told %s", answer)
			}
			if _, heard, _ := bob.call(toolTell, "this call"); !strings.Contains(heard, "this call") {
				t.Errorf("messages about a call do not arrive: %q", heard)
			}
			again := w.talker(keyAnn, legacy)
			again.call(toolBegin, theirs)
			if asked, heard, answer := again.call(toolWait, ""); !strings.Contains(asked, theirs) || !strings.Contains(heard, theirs) || !strings.Contains(answer, "decline") {
				t.Errorf("in a new session: asked %q, heard %q, answer %q", asked, heard, answer)
			}
		})
		if tt.era == modern {
			continue
		}
		t.Run("door/7 of the same key "+tt.name, func(t *testing.T) {
			w := open(t)
			one, other := w.talker(keyAnn, legacy), w.talker(keyAnn, legacy)
			one.call(toolBegin, theirs)
			if asked, heard, answer := other.call(toolWait, ""); !strings.Contains(asked, theirs) || !strings.Contains(heard, theirs) || !strings.Contains(answer, "decline") {
				t.Errorf("asked %q, heard %q, answer %q", asked, heard, answer)
			}
		})
	}
}
