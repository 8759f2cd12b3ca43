package torture

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// TestExplicitCancel checks that a cancellation reaches the server soon, with
// the server's own id, and that the client gets no more messages of that call.
func TestExplicitCancel(t *testing.T) {
	t.Run("fault/F15", func(t *testing.T) {
		p, gateway := newPatient(t)
		c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
		c.Initialize(mcp.LatestLegacy, `{}`)
		var worst time.Duration
		for i := range figures.Size(20, 500) {
			token := fmt.Sprintf("cancel-%d", i)
			sent, taken := make(chan time.Time, 1), make(chan struct{})
			go func() {
				defer close(taken)
				<-p.begun(token)
				sent <- time.Now()
				c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, token))
			}()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			reply, err := c.Try(ctx, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"p__wait","arguments":{"token":%q,"ms":60000}}}`, token, token))
			cancel()
			if err != nil || !isCancelled(reply) {
				t.Fatalf("the client got %+v, %v", reply, err)
			}
			at := p.await(token, patience)
			if at.IsZero() {
				t.Fatalf("call %d was not cancelled at the server", i)
			}
			worst = max(worst, at.Sub(<-sent))
			<-taken // the call may end before its cancellation is answered
		}
		if figures.Full() && worst > 500*time.Millisecond {
			t.Errorf("a cancel took %v", worst)
		}
	})
}

// TestSlowServer checks that a slow server with all its slots in use does not
// affect other servers.
func TestSlowServer(t *testing.T) {
	t.Run("fault/F6", func(t *testing.T) {
		f := hostiles(t, 2, "")
		gateway := mcptest.Gateway(t, strings.Replace(f.config, "{", `{"limits":{"inFlightPerServer":8,"queuedPerServer":64},`, 1))
		ready(t, gateway)
		url := gateway.URL + "/mcp"
		n := figures.Size(400, 8000)
		calm := echoes(t, url, "s1__echo", 8, n)
		var wg sync.WaitGroup
		stop, halt := context.WithCancel(t.Context())
		for w := range 40 { // 8 run, 32 wait
			c := mcptest.NewRawHTTP(t, url)
			wg.Go(func() {
				for stop.Err() == nil {
					_, _ = c.Try(stop, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s0__sleep","arguments":{"ms":500}}}`, w))
				}
			})
		}
		busy := echoes(t, url, "s1__echo", 8, n)
		halt()
		wg.Wait()
		if p99(busy) > 500*time.Millisecond+2*p99(calm) {
			t.Errorf("echo p99 %v before, %v beside a slow server", p99(calm), p99(busy))
		}
		t.Logf("echo p99 %v before, %v beside a slow server", p99(calm), p99(busy))
	})
}
