package listen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A nobody hears nothing. It has a size, so that each has an address of its own.
type nobody struct{ _ byte }

func (*nobody) Updated(context.Context, string, *jsonrpc.Notification) {}

// TestChurn lets clients subscribe to one topic, give up and leave again and again, while
// connections come and go. The server watches the topic while a client is subscribed, and
// no longer at the end.
func TestChurn(t *testing.T) {
	var s Subscriptions
	var watching atomic.Bool
	var connection sync.RWMutex // held for writing while a new connection replaces the last one
	ask := func(ctx context.Context, method, _ string) (*jsonrpc.Response, error) {
		select {
		case <-time.After(time.Duration(rand.IntN(200)) * time.Microsecond):
		case <-ctx.Done():
			watching.Store(method == mcp.MethodSubscribe && rand.IntN(2) == 0)
			return nil, ctx.Err()
		}
		if method == mcp.MethodSubscribe && rand.IntN(20) == 0 {
			return nil, errors.New("refused")
		}
		watching.Store(method == mcp.MethodSubscribe)
		return empty(), nil
	}
	end := time.Now().Add(time.Second)
	var clients sync.WaitGroup
	var rounds atomic.Int64
	for range 6 {
		clients.Go(func() {
			for time.Now().Before(end) {
				who := new(nobody)
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(3) == 0 {
					time.AfterFunc(time.Duration(rand.IntN(300))*time.Microsecond, cancel)
				}
				connection.RLock()
				if _, err := s.Subscribe(ctx, "ann", "x", who, ask); err == nil {
					rounds.Add(1)
					if time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond); !watching.Load() {
						t.Error("the server does not watch it")
					}
					s.Unsubscribe(ctx, "x", who, ask)
				}
				connection.RUnlock()
				cancel()
			}
		})
	}
	clients.Go(func() {
		for time.Now().Before(end) {
			time.Sleep(5 * time.Millisecond)
			connection.Lock()
			watching.Store(false)
			s.Renew(false)(t.Context(), ask)
			connection.Unlock()
		}
	})
	clients.Wait()
	for range 1000 {
		s.mu.Lock()
		idle := len(s.byID) == 0 && len(s.ends.by) == 0
		s.mu.Unlock()
		if idle {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if watching.Load() || len(s.byID) > 0 || rounds.Load() == 0 {
		t.Errorf("after %d rounds %d topics are left, and the server watches: %v", rounds.Load(), len(s.byID), watching.Load())
	}
}

// TestHangingTopicsOfOne checks that topics of a principal at which a server hangs delay
// neither the end nor the renewal of those of another one.
func TestHangingTopicsOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Subscriptions
		var hang atomic.Bool
		ask := func(ctx context.Context, _, id string) (*jsonrpc.Response, error) {
			if hang.Load() && strings.HasPrefix(id, "ann") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return empty(), nil
		}
		subscribers := make(map[string]Subscriber)
		for _, principal := range []string{"ann", "bob"} {
			for n := range 100 {
				id := fmt.Sprint(principal, n)
				subscribers[id] = new(nobody)
				if _, err := s.Subscribe(t.Context(), principal, id, subscribers[id], ask); err != nil {
					t.Fatal(err)
				}
			}
		}
		// Ann has what Bob has, too.
		if _, err := s.Subscribe(t.Context(), "ann", "bob0", new(nobody), ask); err != nil {
			t.Fatal(err)
		}
		hang.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		var renewing sync.WaitGroup
		tell := s.Renew(false)
		renewing.Go(func() { tell(ctx, ask) })
		synctest.Wait() // no time passes
		s.mu.Lock()
		for id, topic := range s.byID {
			if topic.told != strings.HasPrefix(id, "bob") {
				t.Errorf("%s is renewed: %v", id, topic.told)
			}
		}
		s.mu.Unlock()
		cancel()
		renewing.Wait()
		hang.Store(false)
		s.Renew(false)(t.Context(), ask)
		hang.Store(true)
		began := time.Now()
		var ending sync.WaitGroup
		for n := range 100 {
			id := fmt.Sprint("ann", n)
			ending.Go(func() { s.Unsubscribe(t.Context(), id, subscribers[id], ask) })
		}
		synctest.Wait()
		for n := range 100 {
			id := fmt.Sprint("bob", n)
			if _, err := s.Unsubscribe(t.Context(), id, subscribers[id], ask); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("ending those of the other took %v", took)
		}
		ending.Wait()
	})
}

// TestClientsThatWait checks that clients that wait for a server to watch topics do not
// delay the renewal of those of others.
func TestClientsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Subscriptions
		var hang atomic.Bool
		end := make(chan bool)
		ask := func(_ context.Context, _, id string) (*jsonrpc.Response, error) {
			if hang.Load() && !strings.HasPrefix(id, "bob") {
				<-end
			}
			return empty(), nil
		}
		subscribe := func(principal string, n int) error {
			_, err := s.Subscribe(t.Context(), principal, fmt.Sprint(principal, n), new(nobody), ask)
			return err
		}
		for _, principal := range []string{"ann", "eve", "bob"} {
			for n := range maxShare {
				if err := subscribe(principal, n); err != nil {
					t.Fatal(err)
				}
			}
		}
		hang.Store(true)
		var all sync.WaitGroup
		tell := s.Renew(false)
		for _, principal := range []string{"ann", "eve"} {
			for n := range maxShare {
				all.Go(func() { subscribe(principal, n) })
			}
		}
		synctest.Wait()
		all.Go(func() { tell(t.Context(), ask) })
		synctest.Wait() // no time passes
		s.mu.Lock()
		for id, topic := range s.byID {
			if topic.told != strings.HasPrefix(id, "bob") {
				t.Errorf("%s is renewed: %v", id, topic.told)
			}
		}
		s.mu.Unlock()
		close(end)
		all.Wait()
	})
}

// TestEndWhileRenewing checks that a connection may end while a topic of two principals is
// renewed: one of them waits for the request of the other.
func TestEndWhileRenewing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Subscriptions
		var hang atomic.Bool
		answer := make(chan bool)
		ask := func(context.Context, string, string) (*jsonrpc.Response, error) {
			if hang.Load() {
				<-answer
			}
			return empty(), nil
		}
		for _, principal := range []string{"ann", "bob"} {
			if _, err := s.Subscribe(t.Context(), principal, "x", new(nobody), ask); err != nil {
				t.Fatal(err)
			}
		}
		hang.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		var renewing sync.WaitGroup
		tell := s.Renew(false)
		renewing.Go(func() { tell(ctx, ask) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(answer)
		renewing.Wait()
	})
}

// TestOldestFirst checks that a server that takes only so many subscriptions keeps those
// that began first.
func TestOldestFirst(t *testing.T) {
	var s Subscriptions
	ids := strings.Split("dcbaefghij", "")
	for _, id := range ids {
		s.Add(id, new(nobody))
	}
	if got := s.IDs(); !slices.Equal(got, ids) {
		t.Errorf("named in the order %v", got)
	}
}
