package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// Every limit of the config file is enforced, has an error, and is counted by
// its key.
func TestLimitsAreCounted(t *testing.T) {
	t.Parallel()
	hostile := mcptest.Build(t)
	gw := mcptest.Gateway(t, fmt.Sprintf(`{
		"limits": {"clientMessage":"4KiB","serverMessage":"64KiB","depth":20,"idBytes":16,"batch":2,"sessions":4,
			"inFlightPerServer":1,"queuedPerServer":1,"inFlightPerSession":2,"callIdle":"1500ms","callTotal":"60s","handshake":"500ms","bodyIdle":"200ms"},
		"mcpServers": {"s":{"command":%q,"args":["-role","hostile"]},"mute":{"command":%q,"args":["-role","hostile","-mode","hang-init,hang-discover"],"restart":false}}}`,
		hostile, hostile), "--log-level", "error")
	c := mcptest.NewRawHTTP(t, gw.URL+"/mcp")
	c.Initialize(mcp.V2025_03_26, `{}`)
	alone := mcptest.NewRawHTTP(t, gw.URL+"/mcp") // without a session
	hits := func(limit string) string {
		_, body := ask(t, http.MethodGet, gw.URL+"/metrics", "")
		return regexp.MustCompile(`(?m)^mcp_gateway_limit_hits_total\{limit="` + limit + `"\} (\S+)$`).FindStringSubmatch(body)[1]
	}
	call := func(id, tool, args string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"s__%s","arguments":{%s}}}`, id, tool, args)
	}
	// several sends a body n times concurrently and returns all responses.
	several := func(c *mcptest.RawHTTP, n int, args string) (all string) {
		out := make(chan string, n)
		for i := range n {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				reply, err := c.Try(ctx, http.MethodPost, call(fmt.Sprint(100+i), "sleep", args))
				if err != nil {
					out <- err.Error()
					return
				}
				out <- string(reply.Body)
			}()
		}
		for range n {
			all += <-out
		}
		return all
	}
	post := func(body string) string { return string(c.Post(body).Body) }
	for _, tc := range []struct {
		limit, want string
		reach       func() string
	}{
		{"clientMessage", "over the limit", func() string { return post(call("1", "echo", `"message":"`+strings.Repeat("x", 5000)+`"`)) }},
		{"depth", "nested deeper than 20", func() string { return post(call("1", "echo", `"a":`+strings.Repeat("[", 30)+strings.Repeat("]", 30))) }},
		{"idBytes", "over the limit of 16", func() string { return post(call(`"`+strings.Repeat("i", 20)+`"`, "echo", "")) }},
		{"batch", "more than 2", func() string {
			return post("[" + strings.TrimSuffix(strings.Repeat(call("1", "echo", "")+",", 3), ",") + "]")
		}},
		{"serverMessage", "response_too_large", func() string { return post(call("1", "huge", `"bytes":100000,"newline":true`)) }},
		{"inFlightPerServer", "result", func() string { return several(alone, 2, `"ms":200`) }},
		{"queuedPerServer", "overloaded", func() string { return several(alone, 5, `"ms":200`) }},
		{"inFlightPerSession", "result", func() string { return several(c, 4, `"ms":200`) }},
		{"callIdle", "upstream_timeout", func() string { return post(call("1", "never", "")) }},
		{"bodyIdle", "408", func() string { return halfBody(t, gw.URL) }},
		{"sessions", "503", func() string {
			text := ""
			for range 5 {
				status, _ := ask(t, http.MethodPost, gw.URL+"/mcp", mcptest.InitializeLine(mcp.V2025_06_18, `{}`))
				text += fmt.Sprint(status, " ")
			}
			return text
		}},
	} {
		t.Run("limit/"+tc.limit, func(t *testing.T) {
			if got := tc.reach(); !strings.Contains(got, tc.want) {
				t.Errorf("answered %.300s, want %s", got, tc.want)
			}
			if n := hits(tc.limit); n == "0" {
				t.Errorf("counted %s times", n)
			}
		})
	}
	t.Run("limit/handshake", func(t *testing.T) {
		must.Await(t, "the mute server counts", func() bool { return hits("handshake") != "0" })
	})
	t.Run("status", func(t *testing.T) {
		_, body := ask(t, http.MethodGet, gw.URL+"/status", "")
		var page struct{ Limits map[string]int }
		if err := json.Unmarshal([]byte(body), &page); err != nil || page.Limits["depth"] != 1 || page.Limits["memory"] != 0 {
			t.Errorf("%v, %v", page.Limits, err)
		}
	})
}

// halfBody sends half a body and returns the response.
func halfBody(t *testing.T, url string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: 100\r\n\r\n{", strings.TrimPrefix(url, "http://"))
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	buf := make([]byte, 4096)
	n, _ := conn.Read(buf)
	return string(buf[:n])
}
