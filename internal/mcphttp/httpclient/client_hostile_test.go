package httpclient

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp/sse"
)

// TestClientHostileServer checks what a server must not do to us: each case has its
// own error, memory stays within its limit, and the next call works.
func TestClientHostileServer(t *testing.T) {
	var canary atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { canary.Add(1) }))
	defer elsewhere.Close()

	isBad := func(err error) bool { return errors.Is(err, jsonrpc.ErrBadAnswer) }
	isLarge := func(err error) bool { return errors.Is(err, jsonrpc.ErrTooLarge) }
	isEnded := func(err error) bool { return errors.Is(err, ErrStreamEnded) }
	flood := func(w io.Writer, size int) {
		chunk := []byte(strings.Repeat("x", 64<<10))
		for range size / len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	tests := []struct {
		name   string
		answer func(w http.ResponseWriter, id []byte)
		want   func(error) bool
	}{
		{"text/html", func(w http.ResponseWriter, _ []byte) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<h1>Welcome</h1>")
		}, isBad},
		{"no content type", func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusAccepted) }, isBad},
		{"SSE without blank line", func(w http.ResponseWriter, id []byte) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{}}`, id)
		}, isEnded},
		{"data 64 MiB", func(w http.ResponseWriter, _ []byte) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"jsonrpc":"2.0","result":"`)
			flood(w, 64<<20)
		}, isLarge},
		{"JSON 64 MiB without a length", func(w http.ResponseWriter, _ []byte) {
			w.Header().Set("Content-Type", "application/json")
			flood(w, 64<<20)
		}, isLarge},
		{"JSON with a huge length", func(w http.ResponseWriter, _ []byte) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "9000000000000")
			fmt.Fprint(w, "{")
		}, isLarge},
		{"SSE with the largest length", func(w http.ResponseWriter, _ []byte) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Length", strconv.Itoa(math.MaxInt))
			fmt.Fprint(w, "data: ", strings.Repeat("x", 64<<10))
		}, isEnded},
		{"JSON shorter than its length", func(w http.ResponseWriter, _ []byte) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, isEnded},
		{"event id 1 MiB", func(w http.ResponseWriter, _ []byte) {
			events(w)("id: %s\ndata: {}", strings.Repeat("i", 1<<20))
		}, func(err error) bool {
			var limit *sse.LimitError
			return errors.As(err, &limit)
		}},
		{"301 to other host", func(w http.ResponseWriter, _ []byte) {
			w.Header().Set("Location", elsewhere.URL+"/mcp")
			w.WriteHeader(http.StatusMovedPermanently)
		}, func(err error) bool {
			var status *StatusError
			return errors.As(err, &status) && status.Status == 301 && strings.Contains(err.Error(), "not followed")
		}},
		{"307 to other host", func(w http.ResponseWriter, _ []byte) {
			w.Header().Set("Location", elsewhere.URL+"/mcp")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, func(err error) bool {
			var status *StatusError
			return errors.As(err, &status) && status.Status == 307
		}},
		{"1xx flood", func(w http.ResponseWriter, _ []byte) {
			w.Header().Set("X-Padding", strings.Repeat("p", 1<<10))
			for range 1000 {
				w.WriteHeader(http.StatusEarlyHints)
			}
		}, func(err error) bool { return err != nil }},
		{"gzip bomb", func(w http.ResponseWriter, id []byte) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprintf(z, `{"jsonrpc":"2.0","id":%s,"result":"`, id)
			flood(z, 4<<20)
			z.Close()
		}, isBad},
		{"session id of 5 KiB", func(w http.ResponseWriter, id []byte) {
			w.Header().Set("Mcp-Session-Id", strings.Repeat("s", 5<<10))
			answerJSON(w, id, `{}`)
		}, isBad},
	}
	for _, tt := range tests {
		t.Run("corpus/U24/"+tt.name, func(t *testing.T) {
			c := serve(t, ClientOptions{MaxMessage: 1 << 20}, func(w http.ResponseWriter, r *http.Request) {
				msg := receive(r)
				if msg.Method == "ping" {
					answerJSON(w, msg.ID, `{}`)
					return
				}
				tt.answer(w, msg.ID)
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := c.Call(t.Context(), &jsonrpc.Request{Method: "initialize"})
			runtime.ReadMemStats(&after)
			if !tt.want(err) {
				t.Errorf("got %v", err)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
				t.Errorf("%d bytes allocated for a limit of 1 MiB", grown)
			}
			call(t, c, "ping", "").Release()
		})
	}
	if n := canary.Load(); n != 0 {
		t.Errorf("a redirect was followed %d times", n)
	}
}

func TestNotSent(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	c := NewClient(ClientOptions{URL: gone.URL})
	defer c.Close(t.Context())
	_, err := c.Call(t.Context(), &jsonrpc.Request{Method: "x"})
	if !NotSent(err) {
		t.Errorf("nobody listens: %v counts as sent", err)
	}
	cut := serve(t, ClientOptions{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if _, err := cut.Call(t.Context(), &jsonrpc.Request{Method: "x"}); err == nil || NotSent(err) {
		t.Errorf("cut off: %v counts as not sent", err)
	}
	if err := fmt.Errorf("calling: %w", &http1.NotSentError{Err: net.ErrClosed}); !NotSent(err) {
		t.Errorf("closed before the first byte: %v counts as sent", err)
	}
}
