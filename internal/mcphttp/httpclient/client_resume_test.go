package httpclient

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// TestResumeRefusedIsNoRefusal checks that a refused attempt to resume a stream is
// not reported as a refusal of the call. The call has reached the server and must
// not be sent again.
func TestResumeRefusedIsNoRefusal(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := serveMemory(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.WriteHeader(status)
					return
				}
				receive(r)
				events(w)("retry: 1\nid: 1\ndata: ")
			})
			_, err := c.Call(t.Context(), &jsonrpc.Request{Method: "tools/call"})
			var refused *StatusError
			if !errors.Is(err, ErrStreamEnded) || errors.As(err, &refused) || NotSent(err) {
				t.Errorf("status %d on resuming: %v", status, err)
			}
		})
	}
}

// TestResumeOfGoneServer checks that callers do not wait for a server that is gone,
// but do wait if the server asks for it.
func TestResumeOfGoneServer(t *testing.T) {
	t.Run("fault/F25 gone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var down func()
			var c *Client
			c, down = serveMemory(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
				receive(r)
				events(w)("id: 1\ndata: ")
				down()
				panic(http.ErrAbortHandler)
			})
			begun := time.Now()
			_, err := c.Call(t.Context(), &jsonrpc.Request{Method: "tools/call"})
			if took := time.Since(begun); !errors.Is(err, ErrStreamEnded) || NotSent(err) || took < time.Second || took > 3*time.Second {
				t.Errorf("%v after %v", err, took)
			}
		})
	})
	t.Run("fault/F25 busy", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var id []byte
			refusals := 0
			c, _ := serveMemory(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
				msg := receive(r)
				switch {
				case r.Method == http.MethodPost:
					id = msg.ID
					events(w)("id: 1\ndata: ")
				case refusals < 4:
					refusals++
					w.WriteHeader(http.StatusServiceUnavailable)
				default:
					events(w)(`data: {"jsonrpc":"2.0","id":%s,"result":"late"}`, id)
				}
			})
			if got := call(t, c, "tools/call", "").Result; string(got) != `"late"` || refusals != 4 {
				t.Errorf("%s after %d refusals", got, refusals)
			}
		})
	})
}
