package probe

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

func TestTrace(t *testing.T) {
	closed := must.Listen(t)
	gone := closed.Addr().String()
	closed.Close()
	answers := http.NewServeMux()
	answers.HandleFunc("/ok", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	answers.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	answers.HandleFunc("/closed", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	answers.HandleFunc("/signin", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://x/.well-known"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	answers.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/trap", http.StatusTemporaryRedirect)
	})
	answers.HandleFunc("/trap", func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	plain := httptest.NewServer(answers)
	defer plain.Close()
	secure := httptest.NewTLSServer(answers)
	defer secure.Close()
	for _, c := range []struct{ address, want string }{
		{plain.URL + "/ok", "dns+ tcp+ http+"},
		{plain.URL + "/broken", "dns+ tcp+ http-"},
		{plain.URL + "/away", "dns+ tcp+ http+"},
		{plain.URL + "/signin", "dns+ tcp+ http+ auth+"},
		{plain.URL + "/closed", "dns+ tcp+ http+ auth-"},
		{"http://" + gone + "/mcp", "dns+ tcp-"},
		{secure.URL + "/ok", "dns+ tcp+ tls-"}, // its certificate is not trusted
		{"http://no-such-host.invalid/", "dns-"},
		{"::", "dns-"},
	} {
		var got []string
		for _, s := range Trace(t.Context(), c.address) {
			mark := "-"
			if s.OK {
				mark = "+"
			}
			got = append(got, s.Name+mark)
			if s.Detail == "" {
				t.Errorf("%s: step %s says nothing", c.address, s.Name)
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.address, text, c.want)
		}
	}
}
