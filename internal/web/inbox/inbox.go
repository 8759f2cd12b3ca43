// Package inbox holds questions of servers, and calls that need an approval,
// until a person answers them.
package inbox

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
)

// maxQuestions bounds the open questions, questionShare those caused by one
// principal; further questions are declined at once.
const (
	maxQuestions  = 256
	questionShare = maxQuestions / 4
)

// A Question waits for a person: a server's sampling or elicitation request, a
// call that needs approval, a host that a sandbox refused, or a client that wants
// access (share).
type Question struct {
	// ID ends with a keyed digest of the question. So an answer never fits
	// another question, not even after a restart of the gateway, and the ID
	// reveals nothing about the arguments.
	ID string `json:"id"`
	// Replica is the replica where the question waits, in a cluster.
	Replica string `json:"replica,omitempty"`
	// Kind is sampling, elicitation, approval, host or share. A share has as its
	// Server the host that wants access.
	Kind   string `json:"kind"`
	Server string `json:"server,omitempty"`
	// Schema is the schema of the server, or the shared schema; empty if the
	// question is about the whole gateway.
	Schema  string `json:"-"`
	Client  string `json:"client,omitempty"`
	Session string `json:"session,omitempty"`
	// Run is the run of the Bench that caused the question.
	Run string `json:"run,omitempty"`
	// From is the principal whose request caused the question, and Owner its
	// access.Principal.Owner. To is the owner that is asked; if it is empty, all
	// principals that may decide are asked.
	From  string `json:"from,omitempty"`
	Owner string `json:"-"`
	To    string `json:"to,omitempty"`
	// Tool is the tool whose call caused the question, if known.
	Tool  string    `json:"tool,omitempty"`
	Asked time.Time `json:"asked"`
	// Deadline is when the waiting call gives up; zero means never.
	Deadline time.Time `json:"deadline,omitzero"`
	// Params are the params of the request as the server sent them; for a host,
	// its name and port.
	Params json.RawMessage `json:"params"`
	// Code is the script that makes the call; empty for none.
	Code string `json:"code,omitempty"`
	// Check returns an error for an answer that is not accepted; the question then
	// keeps waiting. nil accepts all.
	Check func(Answer) error `json:"-"`
	// Apply carries the answer out, before Ask returns it; nil for nothing to do.
	// Its error is told to the person who answered.
	Apply func(Answer) error `json:"-"`
}

// An Answer is what a person decided.
type Answer struct {
	// Action is accept, decline or cancel.
	Action string `json:"action"`
	// Content is the content of an elicitation, or the whole result of a
	// sampling request.
	Content json.RawMessage `json:"content,omitempty"`
	// For is traffic.ForScript if the approval is for all calls of the same
	// tool by the same run of a script; empty if it is for this call only.
	For string `json:"for,omitempty"`
	// By is the principal who answered. Typed is set if the answer was typed on
	// a command line.
	By    string `json:"-"`
	Typed bool   `json:"-"`
}

// An Inbox holds the open questions and the last that ended. The zero value is ready to use. It is safe
// for concurrent use.
type Inbox struct {
	mu      sync.Mutex
	next    uint64
	waiting []*waiting
	done    []Done // oldest first
	changed func()
	told    func(Question)
}

type waiting struct {
	Question
	answer chan Answer
}

// Ask waits for an answer, or until ctx ends.
func (b *Inbox) Ask(ctx context.Context, q Question) (Answer, error) {
	w := &waiting{Question: q, answer: make(chan Answer, 1)}
	if deadline, ok := ctx.Deadline(); ok && w.Deadline.IsZero() {
		w.Deadline = deadline
	}
	if !b.add(w) {
		return Answer{Action: "decline"}, nil
	}
	select {
	case a := <-w.answer:
		return a, nil
	case <-ctx.Done():
		if b.remove(w.ID) == nil { // it is being answered
			return <-w.answer, nil
		}
		outcome := "ended"
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			outcome = "late"
		}
		b.end(w, outcome, "")
		b.tell()
		return Answer{}, context.Cause(ctx)
	}
}

// answeredBy reports whether a principal may answer the question. A key that is
// bound to some servers decides about those only.
func (q *Question) answeredBy(who access.Principal) bool {
	return who.MayAnswer(q.From, q.To) && (q.To != "" || who.Covers(q.Schema, q.Server, q.Tool))
}

// shownTo reports whether a principal sees the question: it may answer it, or
// caused it.
func (q *Question) shownTo(who access.Principal) bool {
	return q.answeredBy(who) || who.Owns(q.Owner)
}

// List returns the open questions that a principal sees, oldest first.
func (b *Inbox) List(who access.Principal) []Question {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []Question{}
	for _, w := range b.waiting {
		if w.shownTo(who) {
			out = append(out, w.Question)
		}
	}
	return out
}

var errOwnQuestion = i18n.Errorf("you asked this question yourself: another admin has to answer it, in the console or with mcp-all-in-one inbox",
	"不能答复自己发起的请求：须由另一位管理员在控制台或用 mcp-all-in-one inbox 答复")

var (
	errNoScript = i18n.Errorf("only a call that a script makes can be approved for the whole script", "对整个脚本的同意只能用于脚本发起的调用")
	errFor      = i18n.Errorf(`for is either left out or "script", and goes with the action accept`, `for 只能省略或为 "script"，且仅用于 accept`)
)

// Answer answers one question for a principal. It returns api.ErrNotFound if
// the question is no longer open, or the principal does not see it.
func (b *Inbox) Answer(who access.Principal, id string, a Answer) error {
	b.mu.Lock()
	i := slices.IndexFunc(b.waiting, func(w *waiting) bool { return w.ID == id && w.shownTo(who) })
	if i >= 0 && !b.waiting[i].answeredBy(who) {
		b.mu.Unlock()
		return errOwnQuestion
	}
	noScript := i >= 0 && a.For != "" && b.waiting[i].Code == ""
	var bad error
	if i >= 0 && b.waiting[i].Check != nil {
		bad = b.waiting[i].Check(a)
	}
	b.mu.Unlock()
	switch {
	case i < 0:
		return api.ErrNotFound
	case a.For != "" && (a.For != traffic.ForScript || a.Action != "accept"):
		return errFor
	case noScript:
		return errNoScript
	case bad != nil:
		return &badAnswer{bad}
	}
	w := b.remove(id)
	if w == nil {
		return api.ErrNotFound
	}
	a.By = who.ID
	var failed error
	if w.Apply != nil {
		failed = w.Apply(a)
	}
	b.end(w, a.Action, a.By)
	w.answer <- a
	b.tell()
	if failed != nil {
		return &notApplied{failed}
	}
	return nil
}

// A badAnswer is the reason why an answer is not accepted.
type badAnswer struct{ error }

func (e *badAnswer) Unwrap() error { return e.error }

// notApplied says why an answer was not carried out.
type notApplied struct{ error }

func (e *notApplied) Unwrap() error { return e.error }

func (b *Inbox) add(w *waiting) bool {
	b.mu.Lock()
	own := 0
	for _, other := range b.waiting {
		if other.From == w.From {
			own++
		}
	}
	if len(b.waiting) >= maxQuestions || own >= questionShare {
		b.mu.Unlock()
		return false
	}
	b.next++
	if w.Asked.IsZero() {
		w.Asked = time.Now()
	}
	w.ID = fmt.Sprintf("%d-%s", b.next, w.digest())
	b.waiting = append(b.waiting, w)
	told := b.told
	b.mu.Unlock()
	b.tell()
	if told != nil {
		told(w.Question)
	}
	return true
}

// digestKey returns the key of all digests. Each process makes its own.
var digestKey = sync.OnceValue(func() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
})

// digest returns a short hash of all that the question shows, including the
// time.
func (q *Question) digest() string {
	shown, _ := json.Marshal(q) // params were parsed as JSON before
	return keyed(shown)
}

// keyed returns a short keyed digest that reveals nothing about data.
func keyed(data []byte) string {
	mac := hmac.New(sha256.New, digestKey())
	mac.Write(data)
	return hex.EncodeToString(mac.Sum(nil)[:6])
}

// Tell sets the function that is called with every new question. It must not
// block.
func (b *Inbox) Tell(told func(Question)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = told
}

func (b *Inbox) remove(id string) *waiting {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.waiting, func(w *waiting) bool { return w.ID == id })
	if i < 0 {
		return nil
	}
	w := b.waiting[i]
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return w
}

// Watch sets the function that is called whenever List would differ.
func (b *Inbox) Watch(changed func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed = changed
}

func (b *Inbox) tell() {
	b.mu.Lock()
	changed := b.changed
	b.mu.Unlock()
	if changed != nil {
		changed()
	}
}
