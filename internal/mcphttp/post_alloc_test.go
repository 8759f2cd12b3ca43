//go:build !race

package mcphttp_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
)

// discard is a ResponseWriter without cost.
type discard struct {
	h http.Header
	n int
}

func (d *discard) Header() http.Header            { return d.h }
func (d *discard) WriteHeader(int)                {}
func (*discard) SetReadDeadline(time.Time) error  { return nil }
func (*discard) SetWriteDeadline(time.Time) error { return nil }
func (d *discard) Write(p []byte) (int, error)    { d.n += len(p); return len(p), nil }

// body is a request body that can be reused.
type body struct{ bytes.Reader }

func (*body) Close() error { return nil }

// TestPostAllocations checks the allocations of the plain JSON path, without
// net/http and the handler: the post, its context, its cancel function, and the
// request. Within a session also the entry and its id; outside sessions the
// opening.
func TestPostAllocations(t *testing.T) {
	var session mcphttp.Session = trivial{&jsonrpc.Response{Result: []byte(`{"content":[]}`)}}
	srv := mcphttp.NewServer(mcphttp.ServerOptions{Open: func(context.Context, *mcphttp.Opening) (mcphttp.Session, error) {
		return session, nil
	}})
	defer srv.Close()
	w := &discard{h: http.Header{}}
	run := func(header http.Header, text string) (once func()) {
		header["Content-Type"], header["Accept"] = []string{"application/json"}, []string{both}
		b := &body{}
		r := (&http.Request{Method: "POST", Header: header, ContentLength: int64(len(text)), Body: b}).WithContext(t.Context())
		raw := []byte(text)
		return func() {
			b.Reset(raw)
			srv.ServeMCP(w, r, mcphttp.Endpoint{}, "")
		}
	}
	run(http.Header{}, initializeBody(mcp.V2025_06_18))()
	id := w.h["Mcp-Session-Id"]
	for _, tc := range []struct {
		name string
		run  func()
		most float64
	}{
		{"session", run(http.Header{"Mcp-Session-Id": id}, callBody(1, "echo", "x", 0)), 4},
		{"post", run(http.Header{}, callBody(1, "echo", "x", 0)), 5},
		{"modern", run(http.Header{"Mcp-Protocol-Version": {mcp.V2026_07_28}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}}, modernCall(1, "echo", "x", 0)), 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w.n = 0
			if n := testing.AllocsPerRun(200, tc.run); n > tc.most {
				t.Errorf("%v allocations, at most %v", n, tc.most)
			} else {
				t.Logf("%v allocations", n)
			}
			if w.n == 0 {
				t.Error("nothing was answered")
			}
		})
	}
}
