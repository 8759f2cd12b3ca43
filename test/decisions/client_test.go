package decisions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A session sends requests through one door and returns their outcome.
type session interface {
	// ask sends a request and returns the answer.
	ask(method string, params map[string]any, header http.Header) answer
}

// refused is a session that was refused when it was opened: every request
// returns that answer.
type refused struct{ answer }

func (r refused) ask(string, map[string]any, http.Header) answer { return r.answer }

// A streamable speaks streamable HTTP, in either era.
type streamable struct {
	w        *world
	path, as string
	era      era
	header   http.Header
	next     int
}

// firstHeader is the header of a request outside any session.
var firstHeader = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}

func (w *world) streamable(path, as string, e era) session {
	s := &streamable{w: w, path: path, as: as, era: e, header: firstHeader.Clone()}
	if e == modern {
		s.header.Set("Mcp-Protocol-Version", mcp.V2026_07_28)
		return s
	}
	status, h, body := w.do(http.MethodPost, path, as, s.header, []byte(mcptest.InitializeLine(mcp.V2025_11_25, `{}`)))
	if status != http.StatusOK || !bytes.Contains(body, []byte(`"serverInfo"`)) {
		return refused{judgedHTTP(status, body)}
	}
	s.header.Set("Mcp-Protocol-Version", mcp.V2025_11_25)
	s.header.Set("Mcp-Session-Id", h.Get("Mcp-Session-Id"))
	w.do(http.MethodPost, path, as, s.header, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return s
}

func (s *streamable) ask(method string, params map[string]any, header http.Header) answer {
	h := s.header.Clone()
	maps.Copy(h, header)
	if s.era == modern {
		h.Set("Mcp-Method", method)
		for _, member := range []string{"name", "uri", "taskId"} {
			if name, ok := params[member].(string); ok {
				h.Set("Mcp-Name", name)
			}
		}
	}
	s.next++
	ctx, cancel := context.WithTimeout(s.w.t.Context(), patience)
	defer cancel()
	resp, err := s.w.send(ctx, http.MethodPost, s.path, s.as, h, request(s.next, method, params, s.era))
	if err != nil {
		return answer{unclear, err.Error()}
	}
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return answer{unclear, err.Error()}
		}
		return judgedHTTP(resp.StatusCode, body)
	}
	return firstAnswer(mcptest.NewEvents(resp.Body), s.next)
}

// request returns a JSON-RPC request, with the _meta of a modern one.
func request(id int, method string, params map[string]any, e era) []byte {
	p := maps.Clone(params)
	if e == modern {
		if p == nil {
			p = map[string]any{}
		}
		p["_meta"] = map[string]any{mcp.MetaVersion: mcp.V2026_07_28, mcp.MetaCapabilities: map[string]any{}, mcp.MetaClientInfo: map[string]string{"name": "decisions", "version": "1"}}
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": p})
	if err != nil {
		panic(err)
	}
	return raw
}

// judgedHTTP returns the outcome of a response over HTTP, in any format.
func judgedHTTP(status int, body []byte) answer {
	var m wire
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return answer{shutOut, fmt.Sprintf("%d %s", status, body)}
	}
	if json.Unmarshal(body, &m) == nil && (m.Error != nil || m.Result != nil) {
		return judged(body)
	}
	return answer{reasonIn(string(body)), fmt.Sprintf("%d %s", status, body)}
}

// firstAnswer reads a stream up to the response with an id, or up to the
// acknowledgement of a subscription, which is all that a listening client gets.
func firstAnswer(events *mcptest.Events, id int) answer {
	var seen []string
	for e := events.Next(); e != nil; e = events.Next() {
		if e.Data == "" {
			continue
		}
		var m wire
		if json.Unmarshal([]byte(e.Data), &m) != nil {
			return answer{unclear, e.Data}
		}
		if a, ok := answerTo(&m, id, e.Data); ok {
			return a
		}
		seen = append(seen, e.Data)
	}
	return answer{unclear, "the stream ended after " + strings.Join(seen, " ")}
}

func answerTo(m *wire, id int, raw string) (answer, bool) {
	switch {
	case m.Method == "" && string(m.ID) == fmt.Sprint(id):
		return judged([]byte(raw)), true
	case m.Method == mcp.NotificationListening && strings.Contains(raw, uri):
		return answer{let, raw}, true
	case m.Method == mcp.NotificationListening: // it lists what was granted; the rest is not mentioned
		return answer{notFound, raw}, true
	}
	return answer{}, false
}

// An sse speaks the legacy HTTP+SSE.
type sse struct {
	w        *world
	as, post string
	events   *mcptest.Events
	next     int
}

func (w *world) sse(as string) session {
	ctx, cancel := context.WithCancel(w.t.Context())
	resp, err := w.send(ctx, http.MethodGet, "/sse", as, http.Header{"Accept": {"text/event-stream"}}, nil)
	if err != nil {
		cancel()
		return refused{answer{unclear, err.Error()}}
	}
	w.t.Cleanup(func() { cancel(); resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body) // reports what could be read
		return refused{judgedHTTP(resp.StatusCode, body)}
	}
	s := &sse{w: w, as: as, events: mcptest.NewEvents(resp.Body)}
	first := s.events.Next()
	if first == nil || first.Name != "endpoint" {
		return refused{answer{unclear, fmt.Sprint(first)}}
	}
	s.post = strings.TrimPrefix(first.Data, w.http.URL)
	if a := s.line([]byte(mcptest.InitializeLine(mcp.V2024_11_05, `{}`)), 0); a.reason != let {
		return refused{a}
	}
	w.do(http.MethodPost, s.post, as, http.Header{"Content-Type": {"application/json"}}, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return s
}

func (s *sse) ask(method string, params map[string]any, _ http.Header) answer {
	s.next++
	return s.line(request(s.next, method, params, legacy), s.next)
}

func (s *sse) line(body []byte, id int) answer {
	status, _, text := s.w.do(http.MethodPost, s.post, s.as, http.Header{"Content-Type": {"application/json"}}, body)
	if status != http.StatusAccepted && status != http.StatusOK {
		return judgedHTTP(status, text)
	}
	return firstAnswer(s.events, id)
}

// A piped talks to the gateway on stdio.
type piped struct {
	w    *world
	era  era
	next *int
}

// piped opens the only session of the gateway on stdio; a modern client shares
// it.
func (w *world) piped(e era) session {
	if !w.greeted {
		w.greeted = true
		if m := w.onStdio.Initialize(mcp.V2025_11_25, `{}`); m.Error != nil {
			return refused{judged([]byte(m.Raw))}
		}
	}
	return &piped{w: w, era: e, next: &w.lines}
}

func (s *piped) ask(method string, params map[string]any, _ http.Header) answer {
	*s.next++
	id := *s.next
	s.w.onStdio.Send(string(request(id, method, params, s.era)))
	m := s.w.onStdio.Expect(fmt.Sprintf("the answer to %d", id), func(m *mcptest.Message) bool {
		_, ok := answerTo(&wire{ID: m.ID, Method: m.Method}, id, m.Raw)
		return ok
	})
	a, _ := answerTo(&wire{ID: m.ID, Method: m.Method}, id, m.Raw)
	return a
}
