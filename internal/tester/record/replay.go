package record

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

// A Replayed is a repeated request of a recording.
type Replayed struct {
	Method string `json:"method"`
	Name   string `json:"name,omitempty"`
	// Differences are the differences between the recorded answer and the new
	// one.
	Differences []probe.Difference `json:"differences,omitempty"`
	// Skipped is why the request was not sent.
	Skipped   string `json:"skipped,omitempty"`
	SkippedZH string `json:"skippedZH,omitempty"`
	Err       string `json:"error,omitempty"`
	ErrZH     string `json:"errorZH,omitempty"`
}

// Same reports whether the answer equals the recorded one.
func (r *Replayed) Same() bool { return len(r.Differences) == 0 && r.Err == "" }

// Protocol returns the protocol version of a recording; empty if it has no
// handshake.
func (c *Capture) Protocol() string {
	for _, t := range c.Turns() {
		if t.Method == mcp.MethodInitialize {
			version, _ := jsonrpc.GetString(t.Result, "protocolVersion")
			return version
		}
		if version, ok := jsonrpc.GetString(t.Params, "_meta", mcp.MetaVersion); ok {
			return version
		}
	}
	return ""
}

// ReplayAnswers answers a server's questions with the recorded answers.
type ReplayAnswers struct {
	mu      sync.Mutex
	answers map[string][]json.RawMessage
}

// NewReplayAnswers returns the answers in a recording.
func NewReplayAnswers(c *Capture) *ReplayAnswers {
	r := &ReplayAnswers{answers: make(map[string][]json.RawMessage)}
	for _, t := range c.Turns() {
		if t.FromServer && t.Result != nil {
			r.answers[t.Method] = append(r.answers[t.Method], t.Result)
		}
		if t.FromServer || !probe.IsInputRequired(t.Result) {
			continue
		}
		given := roundAnswers(c.Turns(), &t)
		for key, q := range jsonrpc.Members(jsonrpc.Get(t.Result, "inputRequests")) {
			method, _ := jsonrpc.GetString(q, "method")
			if answer := jsonrpc.Get(given, key); answer != nil {
				r.answers[method] = append(r.answers[method], answer)
			}
		}
	}
	return r
}

// roundAnswers returns the answers to a recorded round of questions.
func roundAnswers(turns []Turn, asked *Turn) json.RawMessage {
	state := string(jsonrpc.Get(asked.Result, "requestState"))
	for i := range turns {
		if t := &turns[i]; t.Method == asked.Method && state != "" && string(jsonrpc.Get(t.Params, "requestState")) == state {
			return jsonrpc.Get(t.Params, "inputResponses")
		}
	}
	return nil
}

// Answer returns the next recorded answer to a question with the same method.
func (r *ReplayAnswers) Answer(_ context.Context, q *probe.Question) (json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.answers[q.Method]
	if len(list) == 0 {
		return nil, &probe.PendingError{Question: *q}
	}
	r.answers[q.Method] = list[1:]
	return list[0], nil
}

// notReplayed lists methods that belong to a connection, not to a conversation.
var notReplayed = map[string]i18n.Text{
	mcp.MethodInitialize: handshake, mcp.MethodDiscover: handshake,
	mcp.MethodListen: subscription, mcp.MethodSubscribe: subscription, mcp.MethodUnsubscribe: subscription,
}

var (
	handshake    = i18n.New("the handshake", "握手")
	subscription = i18n.New("a subscription", "订阅")
)

// Replay sends the requests of a recording again, one after the other, and
// compares the answers.
func Replay(ctx context.Context, s *probe.Session, c *Capture, ignore []probe.Places, each func(Replayed)) ([]Replayed, error) {
	turns := c.Turns()
	var results []Replayed
	for i := range turns {
		t := &turns[i]
		if t.FromServer || jsonrpc.Get(t.Params, "requestState") != nil || jsonrpc.Get(t.Params, "inputResponses") != nil {
			continue // a question, or a later round of a call
		}
		r := Replayed{Method: t.Method, Name: probe.SubjectOf(t.Params)}
		if why, skip := notReplayed[t.Method]; skip {
			r.Skipped, r.SkippedZH = why.Both()
		} else if t.Result == nil && t.Err == nil {
			r.Skipped, r.SkippedZH = i18n.New("it was never answered", "没有得到过应答").Both()
		} else {
			r.compare(ctx, s, t, finalAnswer(turns, i), ignore)
		}
		results = append(results, r)
		if each != nil {
			each(r)
		}
		if ctx.Err() != nil {
			return results, context.Cause(ctx)
		}
	}
	return results, nil
}

// finalAnswer follows the rounds of a modern call to the final answer.
func finalAnswer(turns []Turn, at int) *Turn {
	t := &turns[at]
	for range probe.MaxRounds {
		if !probe.IsInputRequired(t.Result) {
			return t
		}
		state := string(jsonrpc.Get(t.Result, "requestState"))
		next := t
		for i := range turns {
			if u := &turns[i]; u.Method == t.Method && string(jsonrpc.Get(u.Params, "requestState")) == state {
				next = u
			}
		}
		if next == t {
			return t
		}
		t = next
	}
	return t
}

func (r *Replayed) compare(ctx context.Context, s *probe.Session, t, want *Turn, ignore []probe.Places) {
	params := bareParams(t.Params)
	x, err := s.Call(ctx, t.Method, params, probe.CallOptions{Idle: probe.CallPatience, Limit: probe.CallPatience})
	if err != nil {
		r.Err, r.ErrZH = i18n.Why(err).Both()
		return
	}
	var answered json.RawMessage
	recorded := want.Result
	if x.Err != nil {
		answered = jsonrpc.AppendError(nil, x.Err)
	} else {
		answered = x.Result
	}
	if want.Err != nil {
		recorded = want.Err
	}
	if (x.Err != nil) != (want.Err != nil) {
		r.Differences = []probe.Difference{{Path: ".", A: recorded, B: answered}}
		return
	}
	if r.Differences, err = probe.DiffJSON(recorded, answered, ignore); err != nil {
		r.Err, r.ErrZH = i18n.Why(err).Both()
	}
}

// bareParams removes the members of recorded params that belong to the
// connection.
func bareParams(params json.RawMessage) json.RawMessage {
	meta := jsonrpc.Get(params, "_meta")
	if meta == nil {
		return params
	}
	kept := 0
	for key := range jsonrpc.Members(meta) {
		if key == "progressToken" || strings.HasPrefix(key, "io.modelcontextprotocol/") {
			params = jsonrpc.Set(params, nil, "_meta", key)
			continue
		}
		kept++
	}
	if kept == 0 {
		params = jsonrpc.Set(params, nil, "_meta")
	}
	return params
}

// In returns the result as one line in the given language.
func (r *Replayed) In(l i18n.Lang) string {
	what := strings.TrimSpace(r.Method + " " + r.Name)
	switch {
	case r.Skipped != "":
		return i18n.New("- %s (%v)", "- %s（%v）", what, i18n.Pair(r.Skipped, r.SkippedZH)).In(l)
	case r.Err != "":
		return i18n.New("✗ %s: %v", "✗ %s：%v", what, i18n.Pair(r.Err, r.ErrZH)).In(l)
	case len(r.Differences) > 0:
		return i18n.New("✗ %s: %d differences", "✗ %s：%d 处不同", what, len(r.Differences)).In(l)
	}
	return "✓ " + what
}
