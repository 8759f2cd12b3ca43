package inbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
)

// A received is a message that a webhook received.
type received struct {
	header http.Header
	body   string
}

// receiver starts a server that receives messages.
func receiver(t *testing.T) (address string, messages <-chan received) {
	got := make(chan received, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- received{r.Header, string(body)}
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// hooked returns an inbox that sends its questions to a webhook.
func hooked(t *testing.T, cfg config.Inbox) *Inbox {
	t.Helper()
	b := new(Inbox)
	h := NewWebhook(func() config.Inbox { return cfg }, func() string { return "http://127.0.0.1:3095" }, slog.New(slog.DiscardHandler))
	t.Cleanup(h.Close)
	b.Tell(h.Tell)
	return b
}

// A message links to the question, is in the receiver's language, and contains
// no arguments.
func TestWebhook(t *testing.T) {
	for format, tt := range map[string]struct {
		language, header, text string
	}{
		"json":  {"en", "", `"text":"A call of “delete” of “files” by “claude” waits for your yes."`},
		"ntfy":  {"zh", "Click", `对 “delete”（“files”）的调用等待你批准，调用者：“claude”。`},
		"slack": {"en", "", `"text":"A call of “delete” of “files” by “claude” waits for your yes.\n`},
	} {
		t.Run("console/webhook "+format, func(t *testing.T) {
			address, messages := receiver(t)
			b := hooked(t, config.Inbox{Console: "https://gateway.example.com/", Webhook: config.Webhook{
				URL: config.Secret(address), Format: format, Language: tt.language, Headers: map[string]config.Secret{"Authorization": "Bearer x"},
			}})
			yes := make(chan Answer, 1)
			go func() {
				a, _ := b.Ask(t.Context(), Question{Kind: "approval", Server: "files", Tool: "delete", Client: "claude", From: "key:a", Params: json.RawMessage(`{"path":"/private"}`)})
				yes <- a
			}()
			m := <-messages
			id := b.List(access.Owner)[0].ID
			link := "https://gateway.example.com/ui/inbox/" + id
			if !strings.Contains(m.body, tt.text) || m.header.Get("Authorization") != "Bearer x" || strings.Contains(m.body, "private") {
				t.Errorf("message %q, header %v", m.body, m.header)
			}
			if tt.header == "" && !strings.Contains(strings.ReplaceAll(m.body, `\u003c`, "<"), link) || tt.header != "" && m.header.Get(tt.header) != link {
				t.Errorf("message %q, header %v: no link %s", m.body, m.header, link)
			}
			if err := b.Answer(access.Owner, id, Answer{Action: "accept"}); err != nil {
				t.Error(err)
			}
			if a := <-yes; a.Action != "accept" {
				t.Errorf("answer %+v", a)
			}
		})
	}
}

// The id of a question identifies its content, so that an answer to one
// question is not accepted for another in its place.
func TestIDsNameTheQuestion(t *testing.T) {
	ids := map[string]bool{}
	for _, path := range []string{"/a", "/b"} {
		b := new(Inbox) // as after a restart of the gateway
		added := make(chan struct{}, 1)
		b.Watch(func() {
			select {
			case added <- struct{}{}:
			default:
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_, _ = b.Ask(ctx, Question{Kind: "approval", From: "key:a", Params: json.RawMessage(`{"path":"` + path + `"}`)})
		}()
		<-added
		ids[b.List(access.Owner)[0].ID] = true
	}
	if len(ids) != 2 {
		t.Errorf("two questions have the ids %v", ids)
	}
}

// A client that asks often causes only a few messages.
func TestWebhookRate(t *testing.T) {
	address, messages := receiver(t)
	var said bytes.Buffer // only Tell writes to it
	h := NewWebhook(func() config.Inbox { return config.Inbox{Webhook: config.Webhook{URL: config.Secret(address)}} }, func() string { return "" },
		slog.New(slog.NewTextHandler(&said, nil)))
	t.Cleanup(h.Close)
	for range 5 * messageBurst {
		h.Tell(Question{Kind: "approval", From: "key:eve"})
	}
	h.Tell(Question{Kind: "approval", From: "key:bob", Tool: "bobs"})
	for range messageBurst {
		<-messages
	}
	if m := <-messages; !strings.Contains(m.body, "bobs") {
		t.Errorf("after the messages of one principal: %s", m.body)
	}
	if dropped := strings.Count(said.String(), "there were too many"); dropped != 4*messageBurst {
		t.Errorf("%d messages were dropped: %s", dropped, said.String())
	}
}

// A name in a message cannot form a link, a mention or markup, and is never
// long.
func TestNamesInMessages(t *testing.T) {
	for name, want := range map[string]string{
		"claude-code":                          "“claude-code”",
		"天气":                                   "“天气”",
		"[ok](http://evil.example/x) @channel": "“·ok··http···evil·example·x· ·channel”",
		"*b* `c` <!here>\n":                    "“·b· ·c· ··here··”",
		strings.Repeat("x", 60_000):            "“" + strings.Repeat("x", maxShown) + "…”",
	} {
		if got := shown(name); got != want {
			t.Errorf("%.40q is shown as %s, not %s", name, got, want)
		}
	}
}

// The id and the other fields of a question reveal nothing about its arguments.
func TestIDsTellNothing(t *testing.T) {
	q := Question{Kind: "approval", Params: json.RawMessage(`{"pin":"4711"}`)}
	shown, _ := json.Marshal(q)
	if sum := sha256.Sum256(shown); strings.HasPrefix(hex.EncodeToString(sum[:]), q.digest()) {
		t.Error("the digest can be made by anybody")
	}
}
