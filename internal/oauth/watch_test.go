package oauth

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestWatch checks that a step shows a request without its secrets.
func TestWatch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(sent), "code=c0de") {
			t.Errorf("the server got %q", sent)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session=s3cret")
		_, _ = io.WriteString(w, `{"access_token":"t0ken","token_type":"Bearer","scope":"read"}`)
	}))
	defer server.Close()
	var steps []Step
	client := http.Client{Transport: watch(http.DefaultTransport, HopAuthority, func(s Step) { steps = append(steps, s) })}
	req := must.Request(t, http.MethodPost, server.URL+"/token?code=c0de", "grant_type=authorization_code&code=c0de&code_verifier=v3rifier",
		"Content-Type", "application/x-www-form-urlencoded", "Authorization", "Basic c2VjcmV0")
	if _, got := must.Answer(t, &client, req); !strings.Contains(got, "t0ken") {
		t.Errorf("the caller got %q", got)
	}
	if len(steps) != 1 {
		t.Fatalf("%d steps", len(steps))
	}
	s := steps[0]
	all := s.URL + s.Body + s.Content + s.Header["Authorization"] + s.Answer["Set-Cookie"]
	for _, secret := range []string{"c0de", "v3rifier", "t0ken", "c2VjcmV0", "s3cret"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is shown: %+v", secret, s)
		}
	}
	if s.Status != 200 || !strings.Contains(s.Body, "grant_type=authorization_code") || !strings.Contains(s.Content, `"scope":"read"`) || !strings.Contains(s.URL, "code=***") {
		t.Errorf("%+v", s)
	}
}
