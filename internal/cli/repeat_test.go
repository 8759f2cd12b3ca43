package cli_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestEveryCallIsTheSame repeats a call on one connection. All responses must
// be the same, on the fast path and on the normal one.
func TestEveryCallIsTheSame(t *testing.T) {
	t.Parallel()
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

// TestEveryModernCallIsTheSame is TestEveryCallIsTheSame for modern clients, which
// identify themselves in each request.
func TestEveryModernCallIsTheSame(t *testing.T) {
	t.Parallel()
	gateway := mcptest.Gateway(t, fmt.Sprintf(`{"mcpServers":{"demo":{"command":%q,"args":["demo"]}}}`, mcptest.BuildProduct(t)))
	const echo = `{"name":"demo__echo","arguments":{"message":"hello"}`
	for name, tc := range map[string]struct {
		params, caps string
		header       [2]string
		status       int
	}{
		"a program":         {echo, `{}`, [2]string{}, http.StatusOK},
		"one to ask":        {echo, `{"elicitation":{"form":{}},"sampling":{}}`, [2]string{}, http.StatusOK},
		"events only":       {echo, `{}`, [2]string{"Accept", "text/event-stream"}, http.StatusOK},
		"no events":         {echo, `{}`, [2]string{"Accept", "application/json"}, http.StatusOK},
		"no such tool":      {`{"name":"demo__none"`, `{}`, [2]string{}, http.StatusBadRequest},
		"missing arguments": {`{"name":"demo__echo"`, `{}`, [2]string{}, http.StatusOK},
		"a question":        {`{"name":"demo__ask_name"`, `{"elicitation":{"form":{}}}`, [2]string{}, http.StatusOK},
		"an unknown key":    {echo, `{}`, [2]string{"Authorization", "Bearer aio_x"}, http.StatusUnauthorized},
		"another name":      {echo, `{}`, [2]string{"Mcp-Name", "demo__add"}, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
			tool, _ := jsonrpc.GetString([]byte(tc.params+"}"), "name")
			for key, value := range map[string]string{"Mcp-Protocol-Version": mcp.LatestModern, "Mcp-Method": mcp.MethodToolsCall, "Mcp-Name": tool} {
				c.Header.Set(key, value)
			}
			if tc.header[0] != "" {
				c.Header.Set(tc.header[0], tc.header[1])
			}
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s,"_meta":{%q:%q,%q:%s}}}`,
				tc.params, mcp.MetaVersion, mcp.LatestModern, mcp.MetaCapabilities, tc.caps)
			var first string
			for i := range 5 {
				reply := c.Post(body)
				if reply.Status != tc.status {
					t.Fatalf("%d %s", reply.Status, reply.Body)
				}
				delete(reply.Header, "Date")
				said, _, _ := strings.Cut(fmt.Sprint(reply.Header, reply.Body), "aio1.") // a handle, which differs
				if i == 0 {
					first = said
				} else if said != first {
					t.Errorf("call %d: %s\nfirst: %s", i, said, first)
				}
			}
		})
	}
}

// TestLaneFollowsTheFile removes and restores a server while a client calls it on
// the fast path.
func TestLaneFollowsTheFile(t *testing.T) {
	t.Parallel()
	with := fmt.Sprintf(`{"mcpServers":{"mine":{"command":%q,"args":["demo"]}}}`, mcptest.BuildProduct(t))
	file := mcptest.WriteConfig(t, with)
	gateway := mcptest.Start(t, mcptest.Product(t, "http", "--mcp-config", file, "--port", "0", "--watch"))
	gateway.Listening()
	c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
	for key, value := range map[string]string{"Mcp-Protocol-Version": mcp.LatestModern, "Mcp-Method": mcp.MethodToolsCall, "Mcp-Name": "mine__echo"} {
		c.Header.Set(key, value)
	}
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mine__echo","arguments":{"message":"hello"},"_meta":{%q:%q,%q:{}}}}`,
		mcp.MetaVersion, mcp.LatestModern, mcp.MetaCapabilities)
	for i, text := range []string{with, `{"mcpServers":{}}`, with, strings.Replace(with, `"args"`, `"disabled":true,"args"`, 1), with} {
		must.Write(t, file, text)
		must.Await(t, fmt.Sprintf("file %d is what is served", i), func() bool { return (c.Post(call).Status == http.StatusOK) == (text == with) })
		for range 3 {
			if reply := c.Post(call); (reply.Status == http.StatusOK) != (text == with) {
				t.Errorf("file %d: %d %s", i, reply.Status, reply.Body)
			}
		}
	}
}
