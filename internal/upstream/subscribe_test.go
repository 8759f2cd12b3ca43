package upstream_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// TestSubscriptionEndsWhileAway checks that a subscription which ends while the server is
// away does not begin again with the server.
func TestSubscriptionEndsWhileAway(t *testing.T) {
	y := newToy()
	bubble(t, "away", y, func(t *testing.T, w *world, line *wire) {
		w.state("a", upstream.Ready)
		end, _, err := w.up("a").Subscribe(t.Context(), legacyCaller(), "toy://one", &heard{})
		if err != nil {
			t.Fatal(err)
		}
		line.down.Store(true)
		w.call("a", "echo", `{}`) // finds that it is away
		end(t.Context())
		line.down.Store(false)
		pass(20 * time.Second) // simulated
		w.state("a", upstream.Ready)
		w.echo("a", "here again")
		if n := y.times("subscribe toy://one"); n != 1 {
			t.Errorf("subscribed %d times", n)
		}
	})
}

// TestSecondSubscriber checks that a client which subscribes to a resource while another
// one does gets the answer of the server, too.
func TestSecondSubscriber(t *testing.T) {
	y := newToy()
	bubble(t, "refused", y, func(t *testing.T, w *world, _ *wire) {
		w.state("a", upstream.Ready)
		goOn := make(chan struct{})
		y.mu.Lock()
		y.bend = func(w http.ResponseWriter, _ *http.Request, method string, _ int) bool {
			if method != mcp.MethodSubscribe {
				return false
			}
			<-goOn
			http.Error(w, "no", http.StatusForbidden)
			return true
		}
		y.mu.Unlock()
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, _, err := w.up("a").Subscribe(t.Context(), legacyCaller(), "toy://one", &heard{})
				errs <- err
			}()
		}
		synctest.Wait()
		if n := len(errs); n > 0 {
			t.Errorf("%d clients got an answer before the server gave one", n)
		}
		close(goOn)
		for range 2 {
			if err := <-errs; err == nil {
				t.Error("a client is subscribed to what the server refuses")
			}
		}
	})
}
