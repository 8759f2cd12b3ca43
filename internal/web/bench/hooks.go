package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/web/inbox"
)

const maxBenchLines = 200

// An Event reports a change of a principal's sessions.
type Event struct {
	// Type is sessions, run, progress, notification, line or down.
	Type   string          `json:"type"`
	Bench  string          `json:"bench,omitempty"`
	Run    *history.Run    `json:"run,omitempty"`
	RunID  string          `json:"runId,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Text   string          `json:"text,omitempty"`
	At     time.Time       `json:"at,omitzero"`
}

// listOf maps a notification to the cached lists that it makes stale.
var listOf = map[string][]string{
	mcp.NotificationTools:     {"tools"},
	mcp.NotificationPrompts:   {"prompts"},
	mcp.NotificationResources: {"resources", "templates"},
}

func (x *bench) hooks() *Hooks {
	return &Hooks{
		Notification: x.notification,
		Line:         x.line,
		Ask:          x.ask,
		Down:         x.lost,
		Sent:         x.sent,
	}
}

func (x *bench) publish(e Event) {
	e.Bench, e.At = x.id, time.Now()
	x.all.opt.Publish(x.owner, e)
}

func (x *bench) notification(method string, params json.RawMessage) {
	x.mu.Lock()
	for _, kind := range listOf[method] {
		delete(x.lists, kind)
	}
	var run *running
	if method == mcp.NotificationProgress {
		token, _ := jsonrpc.GetString(params, "progressToken")
		run = x.running[token]
	}
	x.mu.Unlock()
	if run != nil {
		run.renew()
		x.publish(Event{Type: "progress", RunID: run.id, Method: method, Params: params})
		return
	}
	x.publish(Event{Type: "notification", Method: method, Params: params})
}

func (x *bench) line(text string) {
	x.mu.Lock()
	if len(x.lines) >= maxBenchLines {
		x.lines = x.lines[1:]
	}
	x.lines = append(x.lines, text)
	x.mu.Unlock()
	x.publish(Event{Type: "line", Text: text})
}

// ask puts a question into the inbox, linked to the run that caused it. The
// run's idle timer is stopped while the question is open. The question ends with
// the run.
func (x *bench) ask(ctx context.Context, q inbox.Question) (inbox.Answer, error) {
	q.Run, _ = ctx.Value(runKey{}).(string)
	x.mu.Lock()
	run := x.running[q.Run]
	x.mu.Unlock()
	if run != nil {
		run.hold()
		defer run.renew()
	}
	q.Session, q.From, q.To = x.id, x.owner.ID, x.owner.Owner()
	q.Client = cmp.Or(q.Client, "bench")
	return x.all.opt.Ask(ctx, q)
}

func (x *bench) lost(err error) {
	if err == nil {
		err = jsonrpc.ErrClosed
	}
	x.mu.Lock()
	x.down = i18n.Why(err)
	x.mu.Unlock()
	x.publish(Event{Type: "down", Text: err.Error()})
}
