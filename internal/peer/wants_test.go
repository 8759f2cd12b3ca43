package peer

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/seal"
)

// sessionOf returns the id of a session of a principal that begins now.
func sessionOf(t *testing.T, n *Node, principal string) string {
	return n.NewID(t.Context(), mcphttp.Start{Transport: mcphttp.TransportSession, Principal: principal})
}

// TestShareOfWants checks that a principal with many sessions displaces nothing that
// is kept for those of others: it loses its own, the oldest first.
func TestShareOfWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := node(t, "a", "team", seal.NewSecret())
		large := mcphttp.Wants{Turn: 1, URIs: []string{strings.Repeat("x", 16<<10)}}
		subscribed, bound := sessionOf(t, n, "alice"), sessionOf(t, n, "alice")
		n.Wanted.Keep(subscribed, mcphttp.Wants{Turn: 1, URIs: []string{"memo://1"}})
		n.Wanted.Keep(bound, mcphttp.Wants{Turn: 1, Bound: true})
		theirs := map[string][]string{}
		for _, who := range []string{"bob", "carol", "dave", "erin", "frank"} {
			for range 200 {
				id := sessionOf(t, n, who)
				n.Wanted.Keep(id, large)
				theirs[who] = append(theirs[who], id)
			}
			if last := len(theirs[who]) - 1; len(n.Wanted.get(theirs[who][0]).URIs) != 0 || len(n.Wanted.get(theirs[who][last]).URIs) == 0 {
				t.Errorf("what %s wanted first is kept, or what it wanted last is not", who)
			}
			if n.Wanted.size > maxWants || n.Wanted.of[hashOf(who)].size > maxWants/4 {
				t.Errorf("%d bytes are kept, %d of them for %s", n.Wanted.size, n.Wanted.of[hashOf(who)].size, who)
			}
		}
		if w := n.Wanted.get(subscribed); len(w.URIs) != 1 {
			t.Errorf("the subscription of another principal was displaced: %+v", w)
		}
		if w := n.Wanted.get(bound); !w.Bound {
			t.Errorf("it is forgotten that a session of another principal is bound: %+v", w)
		}
	})
}

// TestShareOfFinal checks that a session that may not begin again never does, also
// if its principal has so many that they are not kept one by one, and that this
// concerns no other principal.
func TestShareOfFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := node(t, "a", "team", seal.NewSecret())
		other, left := sessionOf(t, n, "alice"), sessionOf(t, n, "alice")
		n.Wanted.Keep(left, mcphttp.Wants{Turn: 1, Bound: true})
		var ended []string
		for range 6 {
			for range maxFinal / 16 {
				ended = append(ended, sessionOf(t, n, "bob"))
				n.Wanted.Keep(ended[len(ended)-1], mcphttp.Wants{Turn: 1, Bound: true})
			}
			time.Sleep(time.Minute)
		}
		fresh := sessionOf(t, n, "bob")
		copied := node(t, "b", "team", seal.NewSecret())
		copied.sessions = n.sessions
		text := must.JSON(t, n.Wanted.all())
		var news map[string]knowledge
		must.Parse(t, text, &news)
		copied.Wanted.add(news)
		for _, n := range []*Node{n, copied} {
			for i, id := range ended {
				if !n.Wanted.get(id).Bound {
					t.Fatalf("at %s session %d of %d may begin again", n.self.Node, i, len(ended))
				}
			}
			if n.Wanted.get(fresh).Bound || n.Wanted.get(other).Bound || !n.Wanted.get(left).Bound {
				t.Errorf("at %s: a later session of bob %+v, sessions of alice %+v and %+v", n.self.Node, n.Wanted.get(fresh), n.Wanted.get(other), n.Wanted.get(left))
			}
			if _, final := n.Wanted.Len(); final > maxFinal/4+1 {
				t.Errorf("at %s %d final sessions are kept", n.self.Node, final)
			}
		}
	})
}

// TestOldFinal checks that sessions that are too old to begin again make room before
// others lose something.
func TestOldFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := node(t, "a", "team", seal.NewSecret())
		many := func(first int) (last string) {
			for i := range 4 {
				for range maxFinal / 5 {
					last = sessionOf(t, n, fmt.Sprint("user ", first+i))
					n.Wanted.Keep(last, mcphttp.Wants{Turn: 1, Bound: true})
				}
			}
			return last
		}
		many(0)
		time.Sleep(restorable + 2*clocks)
		last := many(4)
		if _, final := n.Wanted.Len(); final != maxFinal/5*4 || !n.Wanted.get(last).Bound || len(n.Wanted.of) != 4 {
			t.Errorf("%d final sessions of %d principals are kept", final, len(n.Wanted.of))
		}
	})
}

// A logged passes on the messages that a replica logs.
type logged struct {
	slog.Handler
	lines chan string
}

func (l logged) Enabled(context.Context, slog.Level) bool { return true }

func (l logged) Handle(_ context.Context, r slog.Record) error {
	l.lines <- r.Message
	return nil
}

// TestSlowKnowledge checks that a new replica learns what another one knows, even if
// that takes a while to arrive.
func TestSlowKnowledge(t *testing.T) {
	secret := seal.NewSecret()
	a, b := node(t, "a", "team", secret), node(t, "b", "team", secret)
	ended := sessionOf(t, a, "alice")
	ln, err := a.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := a.Server(nil, mcphttp.ServerLimits{}, http.NotFound, nil)
	t.Cleanup(func() { srv.Close() })
	go srv.Serve(distant{ln})
	a.Wanted.Keep(ended, mcphttp.Wants{Turn: 1, Bound: true})
	b.Others.members = []string{ln.Addr().String()}
	b.Wanted.CatchUp(t.Context())
	if !b.Wanted.get(ended).Bound {
		t.Error("it did not hear of it")
	}
}

// A distant listener sends nothing on a new connection for longer than surveyWait.
type distant struct{ net.Listener }

func (l distant) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &distantConn{conn, time.Now().Add(surveyWait * 3 / 2)}, err
}

type distantConn struct {
	net.Conn
	from time.Time
}

func (c *distantConn) Write(b []byte) (int, error) {
	time.Sleep(time.Until(c.from))
	return c.Conn.Write(b)
}

// TestMissedNews checks that a replica that hangs hears of what happened meanwhile,
// and that the others do not wait for it.
func TestMissedNews(t *testing.T) {
	secret := seal.NewSecret()
	a, b, c := node(t, "a", "team", secret), node(t, "b", "team", secret), node(t, "c", "team", secret)
	ln, err := b.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := b.Server(nil, mcphttp.ServerLimits{}, http.NotFound, nil)
	t.Cleanup(func() { srv.Close() })
	a.Others.members = []string{ln.Addr().String(), listen(t, c, http.NotFound).Address}
	lines := make(chan string, 100)
	a.Others.log = slog.New(logged{slog.DiscardHandler, lines})
	ended, subscribed := sessionOf(t, a, "alice"), sessionOf(t, a, "alice")
	a.Wanted.Keep(ended, mcphttp.Wants{Turn: 1, Bound: true})
	a.Wanted.Keep(subscribed, mcphttp.Wants{Turn: 1, URIs: []string{"memo://1"}})
	knows := func(n *Node) func() bool {
		return func() bool { return n.Wanted.get(ended).Bound && len(n.Wanted.get(subscribed).URIs) == 1 }
	}
	must.Await(t, "another replica hears of it", knows(c))
	must.Receive(t, "the warning that b was not told", lines)
	go srv.Serve(ln)
	must.Await(t, "the replica that hung hears of it", knows(b))
}

// TestNewsWhileNotListed checks that a replica that left the list of replicas for a while
// hears of what happened meanwhile.
func TestNewsWhileNotListed(t *testing.T) {
	secret := seal.NewSecret()
	a, b := node(t, "a", "team", secret), node(t, "b", "team", secret)
	var listed atomic.Bool
	listed.Store(true)
	address := listen(t, b, http.NotFound).Address
	a.Others.found = func() []string {
		if listed.Load() {
			return []string{address}
		}
		return nil
	}
	for _, present := range []bool{true, false} {
		listed.Store(present)
		ended := sessionOf(t, a, "alice")
		a.Wanted.Keep(ended, mcphttp.Wants{Turn: 1, Bound: true})
		must.Await(t, "the news is sent", func() bool {
			a.Wanted.mu.Lock()
			defer a.Wanted.mu.Unlock()
			return !a.Wanted.sending
		})
		listed.Store(true)
		must.Await(t, "the replica hears of it", func() bool { return b.Wanted.get(ended).Bound })
	}
}

// TestNewsNotRepeated checks that nothing is sent again to a replica that refuses it,
// nor to one that left the cluster long ago, nor by a replica that has ended.
func TestNewsNotRepeated(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		secret := seal.NewSecret()
		other, asked := answering(t, node(t, "b", "team", secret), "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		n := node(t, "a", "team", secret)
		n.Others.members = []string{other.Address}
		n.Wanted.Keep(sessionOf(t, n, "alice"), mcphttp.Wants{Turn: 1, Bound: true})
		n.Wanted.running.Wait()
		if asked.Load() != 1 {
			t.Errorf("told %d times", asked.Load())
		}
	})
	t.Run("left", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n, began := node(t, "a", "team", seal.NewSecret()), time.Now()
			n.Wanted.note([]string{"127.0.0.1:1"}, []string{"127.0.0.1:1"})
			n.Wanted.running.Wait()
			if took := time.Since(began); took < restorable || took > restorable+time.Minute || len(n.Wanted.hearers) > 0 {
				t.Errorf("given up after %v, left %v", took, n.Wanted.hearers)
			}
		})
	})
	t.Run("ended", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n, began := node(t, "a", "team", seal.NewSecret()), time.Now()
			for _, address := range []string{"127.0.0.1:1", "127.0.0.1:2"} {
				n.Wanted.note([]string{address}, []string{address})
				n.Wanted.close()
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("ended after %v", took)
			}
		})
	})
}
