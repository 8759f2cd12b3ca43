package decisions

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// tokenSkew is how long the gateway accepts a token after its end.
const tokenSkew = time.Minute

// An issuer is an authorization server that signs tokens for the gateway at
// audience.
type issuer struct {
	*httptest.Server
	key ed25519.PrivateKey
}

const audience = "https://gateway.example/mcp"

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	is := &issuer{key: private}
	is.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","kid":"k","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))
	}))
	t.Cleanup(is.Close)
	return is
}

// token returns a token of a person that the gateway accepts until end. scope has
// scopes of the gateway.
func (is *issuer) token(person, scope string, end time.Time) key {
	part := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	text := part(map[string]string{"alg": "EdDSA", "typ": "at+jwt", "kid": "k"}) + "." +
		part(map[string]any{"iss": is.URL, "sub": person, "aud": audience, "scope": scope, "exp": end.Add(-tokenSkew).Unix()})
	return key{text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(is.key, []byte(text))), "token:" + person}
}

// The two tokens of one person: one that stays valid, and one that ends soon.
const (
	tokenLong  = "long"
	tokenShort = "short"
)

// TestTokenEndsItsStreams checks that a stream ends with the token that opened
// it, even if its owner has a newer token, and not before.
func TestTokenEndsItsStreams(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	w := newWorld(t, map[string][]string{keyAdmin: {"admin"}})
	w.oauth = map[string]any{"issuer": is.URL, "resource": audience, "jwks": is.URL}
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, nil)}})
	w.keys[tokenLong] = is.token("ann", "", time.Now().Add(time.Hour))
	s, ok := w.streamable("/mcp", tokenLong, legacy).(*streamable)
	if !ok {
		t.Fatal("the session does not open")
	}
	listen := request(1, mcp.MethodListen, map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{uri}}}, modern)
	header := firstHeader.Clone()
	header.Set("Mcp-Protocol-Version", mcp.V2026_07_28)
	header.Set("Mcp-Method", mcp.MethodListen)
	for _, tt := range []struct {
		name, method, path string
		header             http.Header
		body               []byte
	}{
		{"a stream of a session", http.MethodGet, "/mcp", s.header, nil},
		{"legacy HTTP+SSE", http.MethodGet, "/sse", http.Header{"Accept": {"text/event-stream"}}, nil},
		{"subscriptions/listen", http.MethodPost, "/mcp", header, listen},
		{"the events of the console", http.MethodGet, "/api/v1/events?topics=servers", nil, nil},
	} {
		t.Run("door/2 "+tt.name, func(t *testing.T) {
			end := time.Now().Add(5 * time.Second).Truncate(time.Second)
			w.keys[tokenShort] = is.token("ann", "", end)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			resp, err := w.send(ctx, tt.method, tt.path, tokenShort, tt.header, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				text, _ := io.ReadAll(resp.Body) // reports what could be read
				t.Fatalf("%d %s", resp.StatusCode, text)
			}
			for events := mcptest.NewEvents(resp.Body); events.Next() != nil; {
			}
			if ctx.Err() != nil {
				t.Errorf("the stream goes on %v after the end of its token", time.Since(end).Round(time.Second))
			}
			if early := time.Until(end); early > 0 {
				t.Errorf("the stream has ended %v before its token", early)
			}
		})
	}
	t.Run("door/2 the session goes on with the other token", func(t *testing.T) {
		if a := callTool(s, server+"__"+tool)(hello); a.reason != let {
			t.Error(a)
		}
	})
}

// TestTokensOfOnePerson checks that a token has its own rights, even in what the
// same person has opened with another token.
func TestTokensOfOnePerson(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	w := newWorld(t, map[string][]string{keyAdmin: {"admin"}})
	w.oauth = map[string]any{"issuer": is.URL, "resource": audience, "jwks": is.URL, "adminScope": "boss"}
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, map[string]any{"deny": []string{tool}})}})
	const wide, again, narrow = "wide", "again", "narrow"
	hour := time.Now().Add(time.Hour)
	w.keys[wide], w.keys[again] = is.token("ann", "boss code server:"+server, hour), is.token("ann", "server:"+server+" code boss server:"+server, hour.Add(time.Minute))
	w.keys[narrow] = is.token("ann", "tool:"+server+"/none", hour)
	s, ok := w.streamable("/mcp", wide, legacy).(*streamable)
	if !ok {
		t.Fatal("the session does not open")
	}
	at, ok := w.openBench(wide, map[string]any{"server": server}, legacy).(*benched)
	if !ok {
		t.Fatal("the Bench does not open")
	}
	for as, want := range map[string]int{again: http.StatusOK, narrow: http.StatusNotFound} {
		t.Run("door/1 session of the other token, "+as, func(t *testing.T) {
			if status, _, text := w.do(http.MethodPost, "/mcp", as, s.header, request(7, mcp.MethodPing, nil, legacy)); status != want {
				t.Errorf("%d %s", status, text)
			}
		})
		t.Run("door/1 Bench of the other token, "+as, func(t *testing.T) {
			if status, text := w.api(as, http.MethodGet, "bench/"+at.id, nil); status != want {
				t.Errorf("%d %s", status, text)
			}
			if _, text := w.api(as, http.MethodGet, "bench", nil); strings.Contains(text, at.id) != (want == http.StatusOK) {
				t.Errorf("the list: %s", text)
			}
		})
	}
}

// TestTokensKeepApart checks that a token with fewer rights does not see what the
// same person did with another one.
func TestTokensKeepApart(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	w := newWorld(t, map[string][]string{keyAdmin: {"admin"}})
	w.oauth = map[string]any{"issuer": is.URL, "resource": audience, "jwks": is.URL}
	w.start(map[string]any{
		"mcpServers": map[string]any{server: w.entry(server, nil)},
		"results":    map[string]any{"limit": "1B", "head": "0B", "tail": "0B"},
	})
	const wide, again, narrow = "wide", "again", "narrow"
	hour := time.Now().Add(time.Hour)
	w.keys[wide], w.keys[again], w.keys[narrow] = is.token("ann", "", hour), is.token("ann", "other", hour.Add(time.Minute)), is.token("ann", "readonly", hour)
	s := w.streamable("/mcp", wide, legacy)
	kept := resultURI.FindString(callTool(s, server+"__"+tool)(secret).raw)
	if kept == "" {
		t.Fatal("the result is not kept")
	}
	task := taskID(s.ask(mcp.MethodToolsCall, map[string]any{"name": server + "__" + tool, "arguments": hello.arguments, "task": map[string]any{"ttl": 60000}}, nil).raw)
	if task == "" {
		t.Fatal("no task was made")
	}
	at, ok := w.openBench(wide, map[string]any{"server": server}, legacy).(*benched)
	if !ok {
		t.Fatal("the Bench does not open")
	}
	if a := callTool(at, tool)(secret); a.reason != let {
		t.Fatalf("the call at the Bench: %v", a)
	}
	for as, want := range map[string]bool{again: true, narrow: false} {
		s := w.streamable("/mcp", as, legacy)
		for name, see := range map[string]func() bool{
			"record": func() bool { return len(w.calls(as, "&q=name:"+tool)) > 0 },
			"runs": func() bool {
				_, body := w.api(as, http.MethodGet, "runs", nil)
				return strings.Contains(body, tool)
			},
			"clients": func() bool {
				_, body := w.api(as, http.MethodGet, "clients", nil)
				return strings.Count(body, `"session"`) > 1
			},
			"task":   func() bool { return s.ask(mcp.MethodTasksGet, map[string]any{"taskId": task}, nil).reason == let },
			"tasks":  func() bool { return strings.Contains(s.ask(mcp.MethodTasksList, map[string]any{}, nil).raw, task) },
			"result": func() bool { return s.ask(mcp.MethodResourcesRead, map[string]any{"uri": kept}, nil).reason == let },
		} {
			t.Run("door/7 "+name+", "+as, func(t *testing.T) {
				if got := see(); got != want {
					t.Errorf("the token sees it: %v", got)
				}
			})
		}
	}
}

// resultURI matches the URI of a kept result.
var resultURI = regexp.MustCompile(`result://\w+`)
