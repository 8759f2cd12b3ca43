package mcphttp

import (
	"errors"
	"net/http"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
)

// A call whose stream broke has reached the server, whatever the attempt to
// resume it comes to: nobody may take that for a refusal of the call and send
// it again.
func TestResumeRefusedIsNoRefusal(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
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
	}
}
