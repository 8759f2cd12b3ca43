package cli_test

import (
	"fmt"
	"net/http"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestEveryCallIsTheSame repeats a call on one connection: what is said about
// the first one is said about all, whichever way they take.
func TestEveryCallIsTheSame(t *testing.T) {
	binary := mcptest.BuildProduct(t)
	gateway := mcptest.Gateway(t, fmt.Sprintf(`{"server":{"cors":{"origins":["https://app.example"]}},"mcpServers":{"demo":{"command":%q,"args":["demo"]}}}`, binary))
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"message":"hello"}}}`
	for name, tc := range map[string]struct {
		header [2]string
		status int
	}{
		"a program":        {status: http.StatusOK},
		"a page":           {[2]string{"Origin", "https://app.example"}, http.StatusOK},
		"another page":     {[2]string{"Origin", "https://evil.example"}, http.StatusForbidden},
		"events only":      {[2]string{"Accept", "text/event-stream"}, http.StatusOK},
		"a newer version":  {[2]string{"Mcp-Protocol-Version", "2025-11-25"}, http.StatusOK},
		"an unknown key":   {[2]string{"Authorization", "Bearer aio_x"}, http.StatusUnauthorized},
		"neither of both":  {[2]string{"Accept", "text/html"}, http.StatusNotAcceptable},
		"other than JSON":  {[2]string{"Content-Type", "text/plain"}, http.StatusUnsupportedMediaType},
		"no such session":  {[2]string{"Mcp-Session-Id", "none"}, http.StatusNotFound},
		"another language": {[2]string{"Accept-Language", "zh"}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
			c.Initialize("2025-11-25", `{}`)
			var first string
			for i := range 4 {
				if tc.header[0] != "" {
					c.Header.Set(tc.header[0], tc.header[1])
				}
				reply, err := c.Try(t.Context(), http.MethodPost, call)
				if err != nil || reply.Status != tc.status {
					t.Fatalf("%v, %d %s", err, reply.Status, reply.Body)
				}
				delete(reply.Header, "Date")
				said := fmt.Sprint(reply.Header)
				for _, m := range reply.Messages {
					said += fmt.Sprintf("\n%s %s %+v", m.ID, m.Result, m.Error)
				}
				if i == 0 {
					first = said
				} else if said != first {
					t.Errorf("call %d: %s\nfirst: %s", i, said, first)
				}
			}
		})
	}
}
