package decisions

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcp"
)

// A gate blocks the start of servers until it opens.
type gate struct {
	net.Listener
	mu    sync.Mutex
	open  bool
	conns []net.Conn
}

func newGate(t *testing.T) *gate {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: ln}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			g.keep(conn)
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		<-done
		g.release()
	})
	return g
}

func (g *gate) keep(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		conn.Close()
		return
	}
	g.conns = append(g.conns, conn)
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = true
	for _, conn := range g.conns {
		conn.Close()
	}
	g.conns = nil
}

// TestDecidedWhileTheServerStarts makes the first call before the gateway knows
// the features of the server. The call waits, and is decided like any other.
func TestDecidedWhileTheServerStarts(t *testing.T) {
	for _, id := range []decisionID{nothing, scopeTool, readOnly, itemOff, allowList, denyList, pinHold, headerParams, argumentsFit, ask} {
		for _, door := range []doorID{doorHTTP, doorEndpoint, doorExec} {
			for _, e := range doors[door].eras {
				d := &decisions[id]
				if d.cells[door][e].kind == notApplicable {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", d.name, doors[door].name, e), func(t *testing.T) {
					t.Parallel()
					g := newGate(t)
					w := d.start(t, map[string]any{envGate: g.Addr().String()})
					if d.begin != nil {
						d.begin(w)
					}
					try := doors[door].open(w, e)
					done := w.background(func(target) answer { return try(d.target) })
					w.until("the call waits", func() bool { return w.waiting() })
					g.release()
					if a := done(); a.reason != d.reason {
						t.Errorf("the client should be told %q, and was told %v", orLet(d.reason), a)
					}
					if got := w.heard(mcp.MethodToolsCall) > 0; got != (d.reason == let) {
						t.Errorf("the server heard the call: %v", got)
					}
				})
			}
		}
	}
}

// waiting reports whether a tool call is running.
func (w *world) waiting() bool {
	for _, e := range w.record() {
		if e.Method == mcp.MethodToolsCall && e.Status == "pending" {
			return true
		}
	}
	return false
}
