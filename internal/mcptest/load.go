package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcpserver"
)

// A Load is a number of concurrent clients, which all use the same ids.
type Load struct {
	// URL is the MCP endpoint that all clients use.
	URL string
	// Each of Clients opens a session and makes Calls calls in sequence.
	Clients, Calls int
	// Tools are called in turn with {"token": unique}, and must answer with the
	// token as text.
	Tools []string
	// Sizes, if set, are the sizes to which tokens are extended, in turn.
	Sizes []int
	// Version is the version of the sessions; if empty, the newest legacy one.
	Version string
}

// An Outcome is the result of a Load. Every call is counted once, in OK or in
// Errors.
type Outcome struct {
	OK int
	// Errors counts error answers by data.reason, or by code.
	Errors map[string]int
	// Wrong lists answers that no client may get: a foreign token, a changed
	// id, or no answer at all.
	Wrong []string
	// Tokens lists the tokens that were answered with success.
	Tokens []string
	Median, P99, Max,
	Elapsed time.Duration
}

// Run makes the calls and checks each answer.
func (l Load) Run(t testing.TB) Outcome {
	t.Helper()
	if l.Version == "" {
		l.Version = mcpserver.LegacyVersions[len(mcpserver.LegacyVersions)-1]
	}
	clients := make([]*RawHTTP, l.Clients)
	for i := range clients {
		clients[i] = NewRawHTTP(t, l.URL)
		if m := clients[i].Initialize(l.Version, `{}`); m.Error != nil {
			t.Fatalf("client %d: initialize: %+v", i, m.Error)
		}
	}
	out := Outcome{Errors: map[string]int{}}
	var took []time.Duration
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for i, c := range clients {
		wg.Go(func() {
			for id := range l.Calls {
				token := fmt.Sprintf("client-%d-call-%d", i, id)
				begun := time.Now()
				kind, detail := l.one(t.Context(), c, id, l.Tools[(i+id)%len(l.Tools)], l.sized(token, id))
				mu.Lock()
				took = append(took, time.Since(begun))
				out.count(kind, detail, token)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	out.Elapsed = time.Since(start)
	slices.Sort(took)
	out.Median, out.P99, out.Max = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	return out
}

// sized repeats a token up to the configured size.
func (l Load) sized(token string, id int) string {
	if len(l.Sizes) == 0 {
		return token
	}
	return strings.Repeat(token+" ", l.Sizes[id%len(l.Sizes)]/(len(token)+1)+1)
}

func (o *Outcome) count(kind, detail, token string) {
	switch kind {
	case "ok":
		o.OK++
		o.Tokens = append(o.Tokens, token)
	case "error":
		o.Errors[detail]++
	default:
		o.Wrong = append(o.Wrong, token+": "+detail)
	}
}

// one makes one call and classifies its answer.
func (l Load) one(ctx context.Context, c *RawHTTP, id int, tool, token string) (kind, detail string) {
	ctx, cancel := context.WithTimeout(ctx, 2*deadline)
	defer cancel()
	reply, err := c.Try(ctx, http.MethodPost, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"token":%q}}}`, id, tool, token))
	if err != nil {
		return "wrong", err.Error()
	}
	var answers []Message
	for _, m := range reply.Messages {
		if m.Method == "" {
			answers = append(answers, m)
		}
	}
	if len(answers) != 1 {
		return "wrong", fmt.Sprintf("%d answers, status %d: %.200s", len(answers), reply.Status, reply.Body)
	}
	m := answers[0]
	if string(m.ID) != fmt.Sprint(id) {
		return "wrong", "answered with id " + string(m.ID)
	}
	if m.Error != nil {
		var data struct{ Reason string }
		_ = json.Unmarshal(m.Error.Data, &data) // without a reason, the code is used
		if data.Reason == "" {
			data.Reason = fmt.Sprint(m.Error.Code)
		}
		return "error", data.Reason
	}
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(m.Result, &result); err != nil || len(result.Content) != 1 || result.Content[0].Text != token {
		return "wrong", fmt.Sprintf("got %.300s", m.Raw)
	}
	return "ok", ""
}

// Journal reads a server's journal and counts the tokens.
func Journal(t testing.TB, path string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("reading the journal: %v", err)
	}
	counts := map[string]int{}
	for token := range strings.Lines(string(data)) {
		counts[strings.TrimSpace(token)]++
	}
	return counts
}
