package listen

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
)

func TestLeftOut(t *testing.T) {
	const request = `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:1","a:2"]}}`
	for ack, want := range map[string][]string{
		`{"notifications":{"resourceSubscriptions":["a:1","a:2"]}}`: nil,
		`{"notifications":{"resourceSubscriptions":["a:\u0032"]}}`:  {"a:1"},
		`{"notifications":{"resourceSubscriptions":[]}}`:            {"a:1", "a:2"},
		`{"notifications":{"toolsListChanged":true}}`:               {"a:1", "a:2"},
		// A server that writes addresses otherwise has not left any out.
		`{"notifications":{"resourceSubscriptions":["A:1","A:2"]}}`: nil,
		`{}`: nil,
		``:   nil,
	} {
		if got := slices.Sorted(maps.Keys(leftOut([]byte(request), []byte(ack)))); !slices.Equal(got, want) {
			t.Errorf("%s leaves out %q, want %q", ack, got, want)
		}
	}
}

// A full is a modern server that watches only so many resources.
type full struct {
	most  int
	slow  time.Duration // until it acknowledges
	fails *jsonrpc.Error

	mu    sync.Mutex
	asked int
}

func (f *full) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	f.mu.Lock()
	f.asked++
	most, slow, fails := f.most, f.slow, f.fails
	f.mu.Unlock()
	if fails != nil {
		return nil, fails
	}
	list := []byte(`[`)
	for uri := range jsonrpc.Elements(jsonrpc.Get(req.Params, "notifications", "resourceSubscriptions")) {
		if most--; most < 0 {
			break
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, uri...)
	}
	ack := jsonrpc.Set([]byte(`{"notifications":{}}`), append(list, ']'), "notifications", "resourceSubscriptions")
	time.Sleep(slow) // simulated
	from.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationListening, Params: ack})
	<-ctx.Done()
	return nil, ctx.Err()
}

func (*full) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

func (f *full) change(to func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	to()
}

func (f *full) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// heard passes the acknowledgements on a pipe to a listener.
type heard struct{ *Listener }

func (heard) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return mcp.Refuse(req), nil
}

func (h *heard) HandleNotification(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	h.Acknowledged(n.Params)
}

// listeningTo runs a test with a listener at a server, which asks for two resources.
func listeningTo(t *testing.T, f *full, test func(*testing.T, *Listener)) {
	synctest.Test(t, func(t *testing.T) {
		near, far := duplex.Pipe()
		h := new(heard)
		server := duplex.NewConn(far, duplex.ConnOptions{Handler: f, CancelMethod: mcp.NotificationCancelled})
		client := duplex.NewConn(near, duplex.ConnOptions{Handler: h, CancelMethod: mcp.NotificationCancelled})
		h.Listener = New(t.Context(), Options{
			Peer: client, Params: func() []byte { return Params([]string{"a:1", "a:2"}, nil) }, Missed: func() {},
			Done: make(chan struct{}), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		})
		h.Start()
		test(t, h.Listener)
		h.Stop()
		client.Close()
		server.Close()
		time.Sleep(listenGrace) // simulated: the timers that cancel replaced requests
	})
}

// TestRefusedAgain checks that what a server does not accept, although clients are still
// subscribed to it, is asked for again, ever more rarely.
func TestRefusedAgain(t *testing.T) {
	f := &full{most: 1}
	listeningTo(t, f, func(t *testing.T, n *Listener) {
		synctest.Wait()
		if first, _ := n.Refuses("a:1"); first {
			t.Error("the first one is refused")
		}
		if second, whole := n.Refuses("a:2"); !second || whole != nil {
			t.Errorf("the second one is refused: %v, %v", second, whole)
		}
		time.Sleep(time.Hour)
		if asked := f.times(); asked < 60 || asked > 70 {
			t.Errorf("asked %d times in an hour", asked)
		}
		f.change(func() { f.most, f.asked = 2, 0 })
		time.Sleep(time.Hour)
		if second, _ := n.Refuses("a:2"); second || f.times() != 1 {
			t.Errorf("refused: %v, asked %d times", second, f.times())
		}
	})
}

// TestRefusedWhole checks that a server that refuses the request itself refuses what is in
// it, until it accepts one.
func TestRefusedWhole(t *testing.T) {
	f := &full{most: 2, fails: jsonrpc.Errorf(-32601, "no")}
	listeningTo(t, f, func(t *testing.T, n *Listener) {
		synctest.Wait()
		if refused, whole := n.Refuses("a:1"); !refused || whole == nil || whole.Message != "no" {
			t.Errorf("refused: %v, %v", refused, whole)
		}
		f.change(func() { f.fails = nil })
		time.Sleep(time.Minute)
		if refused, _ := n.Refuses("a:1"); refused {
			t.Error("it is still refused")
		}
	})
}

// TestLateAcknowledgement checks that nothing is taken for refused because an
// acknowledgement on a pipe comes so late that it may be for an earlier request.
func TestLateAcknowledgement(t *testing.T) {
	f := &full{most: 1, slow: ackWait + time.Second}
	listeningTo(t, f, func(t *testing.T, n *Listener) {
		time.Sleep(ackWait)
		synctest.Wait()
		n.Renew()
		n.AwaitConfirmed(t.Context(), n.Asked())
		time.Sleep(time.Minute)
		if refused, _ := n.Refuses("a:2"); refused {
			t.Error("it is refused")
		}
	})
}
