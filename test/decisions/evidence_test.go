package decisions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// A pulse is the event stream of one key. The next event closes next and
// replaces it. After the end of the stream, next stays closed.
type pulse struct {
	mu    sync.Mutex
	next  chan struct{}
	ended bool
}

func (p *pulse) beat(e *mcptest.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	close(p.next)
	if p.ended = e == nil; !p.ended {
		p.next = make(chan struct{})
	}
}

func (p *pulse) wait() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}

func (w *world) pulse(as string) *pulse {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pulses[as]
	if p == nil {
		p = &pulse{next: make(chan struct{})}
		w.pulses[as] = p
		w.events(as, "bench,tests,inbox", p.beat)
	}
	return p
}

// untilEvent calls so after every event of a key, until it returns true or the
// time is over.
func (w *world) untilEvent(as string, so func() bool) bool {
	w.t.Helper()
	p := w.pulse(as)
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for next := p.wait(); !so(); next = p.wait() {
		select {
		case <-next:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// events follows topics of the event stream with a key. It calls hear with each
// event until the world ends, and with nil at the end of the stream.
func (w *world) events(as, topics string, hear func(e *mcptest.Event)) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	resp, err := w.send(ctx, http.MethodGet, "/api/v1/events?topics="+topics, as, nil, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		cancel()
		w.t.Fatalf("following %s: %v %v", topics, resp, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		events := mcptest.NewEvents(resp.Body)
		for e := events.Next(); e != nil; e = events.Next() {
			hear(e)
		}
		hear(nil)
	}()
	w.t.Cleanup(func() {
		cancel()
		resp.Body.Close()
		<-done
	})
}

// decline declines every question in the inbox, as the administrator.
func (w *world) decline() {
	w.events("admin", "inbox", func(e *mcptest.Event) {
		if e == nil {
			return
		}
		for _, id := range w.questions("admin") {
			w.api("admin", http.MethodPost, "inbox/"+id, map[string]any{"action": "decline"})
		}
	})
}

// questions returns the ids of the open questions that a key sees.
func (w *world) questions(as string) (ids []string) {
	status, body := w.api(as, http.MethodGet, "inbox", nil)
	var list []struct{ ID string }
	if status != http.StatusOK || json.Unmarshal([]byte(body), &list) != nil {
		return nil
	}
	for _, q := range list {
		ids = append(ids, q.ID)
	}
	return ids
}

// An entry is one line of the record, or of the audit trail.
type entry struct {
	Start                                    time.Time `json:"start"`
	Time                                     time.Time `json:"time"`
	Principal, Door, Server, Tool, Name      string
	Method, Status, Outcome, Reason, Session string
	Hop, Client                              string
}

func (e entry) String() string {
	tool := e.Tool
	if tool == "" {
		tool = e.Name
	}
	return fmt.Sprintf("{principal %q door %q server %q tool %q method %q %s reason %q}", e.Principal, e.Door, e.Server, tool, e.Method, e.Status+e.Outcome, e.Reason)
}

// record reads the whole record, as the administrator.
func (w *world) record() []entry {
	w.t.Helper()
	status, body := w.api("admin", http.MethodGet, "traffic?limit=1000", nil)
	var page struct{ Calls []entry }
	if status != http.StatusOK || json.Unmarshal([]byte(body), &page) != nil {
		w.t.Fatalf("reading the record: %d %s", status, body)
	}
	return page.Calls
}

// trail reads the audit trails.
func (w *world) trail() (list []entry) {
	w.t.Helper()
	for _, name := range []string{"http", "stdio"} {
		data, err := os.ReadFile(w.audit(name))
		if err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var e entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				w.t.Fatalf("audit trail: %v in %s", err, line)
			}
			e.Start = e.Time
			list = append(list, e)
		}
	}
	return list
}
