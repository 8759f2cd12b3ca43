package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// TestHandshakeTellsWhatServersHave checks that a client that connects while
// the servers start is told their capabilities.
func TestHandshakeTellsWhatServersHave(t *testing.T) {
	for name, c := range map[string]struct{ method, params, want string }{
		"legacy": {mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, `"tasks":{"list":{}}`},
		"modern": {mcp.MethodDiscover, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`, `"com.example/x":{}`},
	} {
		t.Run("true/4 "+name, func(t *testing.T) {
			r := newRaw(t, `{"tools":{},"tasks":{"list":{}},"extensions":{"com.example/x":{}}}`, map[string]string{mcp.MethodToolsList: refusalTools})
			asked, release := make(chan struct{}, 10), make(chan struct{})
			slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				asked <- struct{}{}
				<-release
				r.ServeHTTP(w, req)
			}))
			t.Cleanup(slow.Close)
			g := newGateway(t, map[string]string{"slow": slow.URL}, nil)
			s, err := g.Open(Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Session: name == "legacy", Client: nobody{}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			answer := make(chan string)
			go func() {
				resp, err := s.Handle(t.Context(), nobody{}, &jsonrpc.Request{Method: c.method, Params: []byte(c.params)})
				if err != nil {
					answer <- err.Error()
					return
				}
				answer <- string(resp.Result)
			}()
			<-asked // the gateway has asked the server, which has not answered
			close(release)
			if got := <-answer; !strings.Contains(got, c.want) {
				t.Errorf("told %s", got)
			}
		})
	}
}

// TestFirstListOfModernClient checks that the first list of a client outside any
// session waits for starting servers as long as the configuration says, also if
// the client can be asked.
func TestFirstListOfModernClient(t *testing.T) {
	for name, offer := range map[string]mcp.Offer{"cannot be asked": {}, "can be asked": {Roots: true}} {
		t.Run("true/1 "+name, func(t *testing.T) {
			g := newGateway(t, nil, func(c *config.Config) { c.StartWait = time.Hour })
			s, err := g.Open(Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Header: http.Header{}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			s.caller.Offer = offer
			if wait := s.startup.patience(); wait < time.Minute {
				t.Errorf("it waits %v", wait)
			}
		})
	}
}
