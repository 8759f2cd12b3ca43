package mcphttp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func FuzzGuard(f *testing.F) {
	f.Add("localhost:3095", "http://localhost:3095")
	f.Add("[::1]:3095", "null")
	f.Add("[", "http://[::1")
	f.Add(":", "//")
	g := &Guard{Loopback: true, Port: 3095}
	f.Fuzz(func(t *testing.T, host, origin string) {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.URL.Host, r.Host = "", host
		r.Header["Origin"] = []string{origin}
		if !g.Check(httptest.NewRecorder(), r) {
			return
		}
		bare := strings.TrimSuffix(strings.ToLower(host), ":3095")
		if bare != "localhost" && bare != "127.0.0.1" && bare != "[::1]" && bare != "::1" {
			t.Errorf("host %q passed", host)
		}
		if !strings.HasSuffix(strings.ToLower(origin), "://"+"localhost:3095") && !strings.HasSuffix(origin, "://127.0.0.1:3095") && !strings.HasSuffix(origin, "://[::1]:3095") {
			t.Errorf("origin %q passed", origin)
		}
	})
}

func TestAcceptedBy(t *testing.T) {
	for _, tc := range []struct {
		lines []string
		want  accepted
	}{
		{nil, accepted{json: true}},
		{[]string{""}, accepted{json: true}},
		{[]string{"*/*"}, accepted{json: true}},
		{[]string{"application/json, text/event-stream"}, accepted{json: true, events: true}},
		{[]string{"application/json", "TEXT/Event-Stream;q=0.5"}, accepted{json: true, events: true}},
		{[]string{"application/json;q=0.0, text/event-stream"}, accepted{events: true}},
		{[]string{"text/html, image/*"}, accepted{}},
	} {
		if got := acceptedBy(tc.lines); got != tc.want {
			t.Errorf("%q: %+v, want %+v", tc.lines, got, tc.want)
		}
	}
}
