package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/web/api"
)

// TestInboxShare checks that one principal cannot take all slots.
func TestInboxShare(t *testing.T) {
	var b Inbox
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range questionShare {
		w := &waiting{Question: Question{From: "key:a"}}
		if !b.add(w) {
			t.Fatal("declined within its share")
		}
	}
	if a, err := b.Ask(ctx, Question{From: "key:a"}); err != nil || a.Action != "decline" {
		t.Errorf("beyond its share: %+v, %v", a, err)
	}
	added := make(chan struct{}, 1)
	b.Watch(func() {
		select {
		case added <- struct{}{}:
		default:
		}
	})
	wg.Go(func() { _, _ = b.Ask(ctx, Question{From: "key:b", To: "key:b"}) })
	<-added
	if list := b.List(access.Principal{ID: "key:b"}); len(list) != 1 {
		t.Errorf("another principal's question: %+v", list)
	}
}

// TestInboxHost checks that a principal that may not change the configuration
// neither sees nor answers the question about a host.
func TestInboxHost(t *testing.T) {
	var b Inbox
	w := &waiting{Question: Question{Kind: "host", Server: "web"}, answer: make(chan Answer, 1)}
	if !b.add(w) {
		t.Fatal("no room")
	}
	for _, who := range []access.Principal{{ID: "key:model"}, access.Anonymous, {ID: "key:reader", Grant: access.Grant{Admin: true, ReadOnly: true}}} {
		if list := b.List(who); len(list) != 0 {
			t.Errorf("%s sees %+v", who.ID, list)
		}
		if err := b.Answer(who, w.ID, Answer{Action: "accept"}); err == nil {
			t.Errorf("%s answered", who.ID)
		}
	}
	if err := b.Answer(access.Owner, w.ID, Answer{Action: "accept"}); err != nil {
		t.Error(err)
	}
}

// TestInboxApply checks that an answer that cannot be carried out is refused with
// the reason, and that one that is under way counts although the question is
// withdrawn.
func TestInboxApply(t *testing.T) {
	for name, failed := range map[string]error{"done": nil, "failed": errors.New("the file is locked")} {
		t.Run("inbox/apply/"+name, func(t *testing.T) {
			var b Inbox
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asked := make(chan Question, 1)
			b.Tell(func(q Question) { asked <- q })
			got := make(chan Answer, 1)
			go func() {
				a, _ := b.Ask(ctx, Question{Kind: "host", Apply: func(Answer) error { cancel(); return failed }})
				got <- a
			}()
			q := <-asked
			routes := &api.Router{Routes: []api.Route{api.NewRoute("POST", AnswerPattern, api.ScopeCall, api.Reading(b.Post))}, Identify: func(*http.Request) (access.Principal, bool) { return access.Owner, true }}
			r := httptest.NewRequest(http.MethodPost, api.Prefix+"inbox/"+q.ID, strings.NewReader(`{"action":"accept"}`))
			r.Header.Set(api.ChangeHeader, "1")
			w := httptest.NewRecorder()
			routes.ServeHTTP(w, r)
			if failed == nil && w.Code != http.StatusNoContent || failed != nil && (w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), failed.Error())) {
				t.Errorf("status %d, %s", w.Code, w.Body)
			}
			if a := <-got; a.Action != "accept" || a.By != access.Owner.ID {
				t.Errorf("answer %+v", a)
			}
		})
	}
}

// TestInboxDone checks that a question that ended stays visible to those who saw
// it, with its outcome and without the answer.
func TestInboxDone(t *testing.T) {
	var b Inbox
	asked := make(chan Question, 1)
	b.Tell(func(q Question) { asked <- q })
	ask := func(ctx context.Context) <-chan struct{} {
		over := make(chan struct{})
		go func() {
			defer close(over)
			params := []byte(`{"message":"Who?"}`)
			_, _ = b.Ask(ctx, Question{Kind: "elicitation", From: "key:a", To: "key:a", Params: params})
			clear(params) // the memory of a request is used again
		}()
		return over
	}
	a := access.Principal{ID: "key:a"}
	over := ask(t.Context())
	must.OK(t, b.Answer(a, (<-asked).ID, Answer{Action: "accept", Content: []byte(`{"name":"secret"}`)}))
	<-over
	for _, cause := range []error{context.DeadlineExceeded, context.Canceled} {
		ctx, cancel := context.WithCancelCause(t.Context())
		over := ask(ctx)
		<-asked
		cancel(cause)
		<-over
	}
	list := b.Done(a)
	if len(list) != 3 || list[0].Outcome != "ended" || list[1].Outcome != "late" || list[2].Outcome != "accept" || list[2].By != "key:a" {
		t.Errorf("done = %+v", list)
	}
	if text, err := json.Marshal(list); err != nil || strings.Contains(string(text), "secret") || strings.Count(string(text), "Who?") != 3 {
		t.Errorf("the questions without their answers are %s, %v", text, err)
	}
	if list := b.Done(access.Principal{ID: "key:b"}); len(list) != 0 {
		t.Errorf("another principal sees %+v", list)
	}
	for range 2 * maxDone {
		b.end(&waiting{Question: Question{From: "key:a", Owner: "key:a"}}, "ended", "")
	}
	if n := len(b.Done(a)); n != maxDone {
		t.Errorf("%d are kept", n)
	}
}
