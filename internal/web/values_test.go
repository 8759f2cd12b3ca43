package web

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/web/values"
)

// TestValuesStall checks that the form of a user's value may not stall.
func TestValuesStall(t *testing.T) {
	book := &values.Book{}
	bodies := mcphttp.NewServer(mcphttp.ServerOptions{})
	t.Cleanup(bodies.Close)
	c := start(t, func(o *Options) {
		o.Body = bodies.Body
		o.Values = &values.Page{Book: book, Has: func(string, string, string) bool { return false },
			Current: func(who access.Principal) (access.Principal, bool) { return who, true }, Log: slog.New(slog.DiscardHandler)}
	})
	host := strings.TrimPrefix(c.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	path := book.Ask(values.Question{Who: access.Principal{ID: "key:ann"}, Server: "hub", Name: "token"})
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 20\r\n\r\nvalue=", path, host)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%s %s", resp.Status, text)
	}
}
