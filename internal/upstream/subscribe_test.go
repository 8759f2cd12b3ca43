package upstream_test

import (
	"context"
	"fmt"
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
		one, _, err := w.up("a").Subscribe(t.Context(), legacyCaller(), "toy://one", &heard{})
		if err != nil {
			t.Fatal(err)
		}
		line.down.Store(true)
		w.call("a", "echo", `{}`) // finds that it is away
		one.End(t.Context())
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

// holding makes a server keep the requests of a method until it may go on.
func (y *toy) holding(held string) (goOn func()) {
	may := make(chan struct{})
	y.mu.Lock()
	defer y.mu.Unlock()
	y.bend = func(_ http.ResponseWriter, r *http.Request, method string, _ int) bool {
		if method == held {
			select {
			case <-may:
			case <-r.Context().Done():
				return true
			}
		}
		return false
	}
	return func() { close(may) }
}

// TestUnsubscribeCutShort checks that a client that subscribes while the server still
// ends the subscription of another one is subscribed afterwards, even if the other one
// did not wait for that.
func TestUnsubscribeCutShort(t *testing.T) {
	y := newToy()
	bubble(t, "door/14", y, func(t *testing.T, w *world, _ *wire) {
		w.state("a", upstream.Ready)
		one, _, err := w.up("a").Subscribe(t.Context(), legacyCaller(), "toy://one", &heard{})
		if err != nil {
			t.Fatal(err)
		}
		goOn := y.holding(mcp.MethodUnsubscribe)
		ctx, cancel := context.WithCancel(t.Context())
		go one.End(ctx)
		synctest.Wait()
		cancel()
		done := make(chan error, 1)
		go func() {
			_, _, err := w.up("a").Subscribe(t.Context(), legacyCaller(), "toy://one", &heard{})
			done <- err
		}()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("subscribed while the server ends the subscription")
		}
		goOn()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if seen := y.asked(); seen[mcp.MethodSubscribe] != 2 || seen[mcp.MethodUnsubscribe] != 1 {
			t.Errorf("the server was asked %v", seen)
		}
	})
}

// TestSubscribeCutShort checks that a client that gives up subscribing neither delays
// others that subscribe to the same resource nor stays subscribed.
func TestSubscribeCutShort(t *testing.T) {
	for _, other := range []bool{true, false} {
		y := newToy()
		bubble(t, fmt.Sprintf("door/14 another client %v", other), y, func(t *testing.T, w *world, _ *wire) {
			w.state("a", upstream.Ready)
			goOn := y.holding(mcp.MethodSubscribe)
			ctx, cancel := context.WithCancel(t.Context())
			subscribe := func(ctx context.Context, done chan<- error) {
				_, _, err := w.up("a").Subscribe(ctx, legacyCaller(), "toy://one", &heard{})
				done <- err
			}
			first, second := make(chan error, 1), make(chan error, 1)
			go subscribe(ctx, first)
			synctest.Wait()
			if other {
				go subscribe(t.Context(), second)
				synctest.Wait()
			}
			cancel()
			if err := <-first; err == nil {
				t.Error("the first one is subscribed")
			}
			goOn()
			ended := 1
			if other {
				ended = 0
				if err := <-second; err != nil {
					t.Error(err)
				}
			}
			synctest.Wait()
			if seen := y.asked(); seen[mcp.MethodSubscribe] != 1 || seen[mcp.MethodUnsubscribe] != ended {
				t.Errorf("the server was asked %v", seen)
			}
		})
	}
}

// TestCallsWhileSubscribingAgain checks that calls do not wait until a server that
// returned has answered for each subscription.
func TestCallsWhileSubscribingAgain(t *testing.T) {
	y := newToy()
	bubble(t, "door/14", y, func(t *testing.T, w *world, line *wire) {
		w.state("a", upstream.Ready)
		if _, _, err := w.up("a").Subscribe(t.Context(), legacyCaller(), "toy://one", &heard{}); err != nil {
			t.Fatal(err)
		}
		goOn := y.holding(mcp.MethodSubscribe)
		defer goOn()
		line.down.Store(true)
		w.call("a", "echo", `{}`) // finds that it is away
		line.down.Store(false)
		pass(20 * time.Second) // simulated
		w.state("a", upstream.Ready)
		w.echo("a", "here again")
		if n := y.asked()[mcp.MethodSubscribe]; n < 2 {
			t.Errorf("subscribed %d times", n)
		}
	})
}

// refuse makes a server refuse the requests of a method; of none if it is empty.
func (y *toy) refuse(method string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.refused = method
}

// TestSubscribingAgainRefused checks that a server that returns and refuses to be
// subscribed to is asked again, ever more rarely, while a client is subscribed.
func TestSubscribingAgainRefused(t *testing.T) {
	y := newToy()
	bubble(t, "door/14", y, func(t *testing.T, w *world, line *wire) {
		w.state("a", upstream.Ready)
		const many = 20
		var held []*upstream.Subscription
		for n := range many {
			one, _, err := w.up("a").Subscribe(t.Context(), legacyCaller(), fmt.Sprint("toy://", n), &heard{})
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, one)
		}
		y.refuse(mcp.MethodSubscribe)
		line.down.Store(true)
		w.call("a", "echo", `{}`) // finds that it is away
		line.down.Store(false)
		pass(time.Hour) // simulated
		w.state("a", upstream.Ready)
		w.echo("a", "here again")
		if n := y.asked()[mcp.MethodSubscribe]; n < many+60*16 || n > many+150*31 {
			t.Errorf("subscribed %d times in an hour", n)
		}
		held[0].End(t.Context())
		y.refuse("")
		pass(2 * time.Minute) // simulated
		for n := range many {
			want := 2
			if n == 0 {
				want = 1
			}
			if got := y.times(fmt.Sprint("subscribe toy://", n)); got != want {
				t.Errorf("it accepted toy://%d %d times, want %d", n, got, want)
			}
		}
		before := y.asked()[mcp.MethodSubscribe]
		pass(time.Hour) // simulated
		if n := y.asked()[mcp.MethodSubscribe]; n != before {
			t.Errorf("asked %d times although it has accepted", n-before)
		}
	})
}

// TestSubscribeAtDisabledServer checks that a server that was switched off since a
// request was let through refuses the request.
func TestSubscribeAtDisabledServer(t *testing.T) {
	off := remote("a", "http://toy.example/mcp")
	off.Enabled = false
	w := newWorld(t, worldOptions{}, off)
	w.state("a", upstream.Disabled)
	if _, _, err := w.up("a").Subscribe(t.Context(), legacyCaller(), "toy://one", &heard{}); err == nil {
		t.Error("no error")
	}
}

// TestSubscriptionEndsOnce checks that ending a subscription twice leaves the next one of
// the same client alone.
func TestSubscriptionEndsOnce(t *testing.T) {
	y := newToy()
	bubble(t, "door/14", y, func(t *testing.T, w *world, _ *wire) {
		w.state("a", upstream.Ready)
		who := &heard{}
		subscribe := func() *upstream.Subscription {
			one, _, err := w.up("a").Subscribe(t.Context(), legacyCaller(), "toy://one", who)
			if err != nil {
				t.Fatal(err)
			}
			return one
		}
		first := subscribe()
		second := subscribe()
		first.End(t.Context())
		first.End(t.Context())
		if n := y.asked()[mcp.MethodUnsubscribe]; n != 0 {
			t.Error("the server was told that nobody is subscribed")
		}
		second.End(t.Context())
		if n := y.asked()[mcp.MethodUnsubscribe]; n != 1 {
			t.Errorf("the server was told %d times", n)
		}
	})
}
