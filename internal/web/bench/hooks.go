package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
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

// options returns the options of the session: what happens in it becomes events,
// and its questions go to the inbox.
func (x *bench) options() probe.Options {
	t := &x.target
	opt := probe.Options{
		Protocol: t.Protocol, Info: mcp.Implementation{Name: t.ClientName, Version: t.ClientVersion}, Roots: t.Roots, Listen: true,
		Answer: probe.AnswerFunc(x.ask), OnNotification: x.notification, OnLine: x.line, OnDown: x.lost,
		OnFrame: func(f probe.Frame) {
			if f.Sent {
				x.sent(f.Body)
			}
		},
	}
	if opt.Info.Name != "" && opt.Info.Version == "" {
		opt.Info.Version = mcp.ProductVersion
	}
	return opt
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
func (x *bench) ask(ctx context.Context, asked *probe.Question) (json.RawMessage, error) {
	q := inbox.Question{Kind: asked.Kind(), Server: x.target.Server, Tool: asked.Name, Params: asked.Params,
		Session: x.id, From: x.owner.ID, To: x.owner.Owner(), Client: "bench"}
	q.Run, _ = ctx.Value(runKey{}).(string)
	x.mu.Lock()
	run := x.running[q.Run]
	x.mu.Unlock()
	if run != nil {
		run.hold()
		defer run.renew()
	}
	answer, err := x.all.opt.Ask(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case asked.Method == mcp.MethodElicit && answer.Action == "accept" && len(answer.Content) > 0:
		return jsonrpc.Set([]byte(`{"action":"accept"}`), answer.Content, "content"), nil
	case asked.Method == mcp.MethodElicit:
		return fmt.Appendf(nil, `{"action":%s}`, jsonrpc.Quote(answer.Action)), nil
	case answer.Action != "accept":
		return nil, jsonrpc.Errorf(-1, "User rejected the %s request", q.Kind)
	}
	return answer.Content, nil
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
