package peer

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/seal"
)

// A slow listener accepts its first connection late.
type slow struct {
	net.Listener
	once sync.Once
}

func (l *slow) Accept() (net.Conn, error) {
	l.once.Do(func() { <-time.After(surveyWait * 3 / 2) })
	return l.Listener.Accept()
}

// sessions is a replica's session store that has all sessions, or none.
type sessions bool

func (s sessions) Has(string) bool { return bool(s) }

func (sessions) Restore(*http.Request, string, mcphttp.Start) error { return nil }

// stopping is a replica that begins to stop when it restores a session.
type stopping struct {
	sessions
	*Node
}

func (s stopping) Restore(*http.Request, string, mcphttp.Start) error {
	s.Retire()
	return mcp.Failure(mcp.Overloaded, "", "this server is stopping")
}

// pair returns a replica that knows another one, which answers with serve.
func pair(t *testing.T, has bool, late bool, serve http.HandlerFunc) (a, b *Node) {
	t.Helper()
	secret := seal.NewSecret()
	a, b = node(t, "a", "team", secret), node(t, "b", "team", secret)
	ln, err := b.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := b.Server(nil, mcphttp.ServerLimits{}, serve, nil)
	b.self.Address = ln.Addr().String()
	a.local, b.local = sessions(false), sessions(has)
	a.Others.members = []string{b.self.Address}
	if late {
		ln = &slow{Listener: ln}
	}
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	return a, b
}

// TestGivenUp checks that a session is restored at the replica that looks for it if
// its owner gives it up meanwhile.
func TestGivenUp(t *testing.T) {
	t.Run("fault/T46 a session that is given up meanwhile", func(t *testing.T) {
		a, b := pair(t, true, false, func(w http.ResponseWriter, _ *http.Request) { notRun(w, notNow) })
		if got := a.adopt(httptest.NewRecorder(), post("{}"), &ticket{Owner: b.self.String()}, false); got != mcphttp.Here {
			t.Errorf("%d", got)
		}
	})
}

// TestAlmostRestored checks that a request for a session that another replica is
// restoring is forwarded to that replica.
func TestAlmostRestored(t *testing.T) {
	t.Run("fault/T46 a session that another one is about to restore", func(t *testing.T) {
		restored := ""
		a, b := pair(t, false, false, func(w http.ResponseWriter, r *http.Request) { restored = r.Header.Get(headerRestore) })
		away := post("{}")
		for away.Session = "x"; rank(away.Session, b.self) < rank(away.Session, a.self); away.Session += "x" {
		}
		defer b.restoring.enter(away.Session)()
		if got := a.adopt(httptest.NewRecorder(), away, &ticket{Owner: "c 0 127.0.0.1:1"}, false); got != mcphttp.Answered || restored != "1" {
			t.Errorf("%d, restored %q", got, restored)
		}
	})
}

// TestStopsMeanwhile checks that a replica that begins to stop while it restores a
// session leaves it to another one.
func TestStopsMeanwhile(t *testing.T) {
	t.Run("fault/T46 a replica that ends while it restores", func(t *testing.T) {
		for _, asked := range []bool{false, true} {
			a, _ := pair(t, false, false, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
			a.local = stopping{false, a}
			w, away := httptest.NewRecorder(), post("{}")
			got := a.adopt(w, away, &ticket{Owner: "c 0 127.0.0.1:1", Time: time.Now().Unix()}, asked)
			if got != mcphttp.Answered || asked && w.Header().Get(headerNotRun) != notNow || !asked && w.Body.String() != "ok" {
				t.Errorf("asked %v: %d, answered %q, %v", asked, got, w.Body, w.Header())
			}
		}
	})
}

// TestSlowReplica checks that a stopping replica forwards its requests to another
// one even if that one is slow, as on a busy machine.
func TestSlowReplica(t *testing.T) {
	for _, session := range []bool{false, true} {
		t.Run("fault/T46 a slow replica", func(t *testing.T) {
			a, _ := pair(t, false, true, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
			a.Retire()
			away := post("{}")
			away.Ends = !session
			if session {
				away.Session = a.NewID(t.Context(), mcphttp.Start{Transport: mcphttp.TransportSession, Principal: away.Principal})
			}
			w := httptest.NewRecorder()
			if got := a.Elsewhere(w, away); got != mcphttp.Answered || w.Body.String() != "ok" {
				t.Errorf("%d, answered %q", got, w.Body)
			}
		})
	}
}

// TestAskedOnce checks that a replica with two names is asked once.
func TestAskedOnce(t *testing.T) {
	t.Run("cluster/ask/two names", func(t *testing.T) {
		var asked atomic.Int32
		a, b := pair(t, false, false, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
		_, port, err := net.SplitHostPort(b.self.Address)
		if err != nil {
			t.Fatal(err)
		}
		a.Others.members = []string{b.self.Address, "localhost:" + port}
		list := a.Others.Ask(httptest.NewRequest(http.MethodGet, "/x", nil), access.Owner)
		names := map[string]bool{}
		for _, r := range list {
			if r.Err == nil {
				names[r.Name] = true
			}
		}
		if asked.Load() != 1 || len(names) != 2 {
			t.Errorf("asked %d times: %+v", asked.Load(), list)
		}
	})
}
