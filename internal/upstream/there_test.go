package upstream_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/hop"
)

// A replica runs a server for another gateway.
type replica struct {
	t      *testing.T
	ln     net.Listener
	joined chan *duplex.Conn // the connections of the gateway
	moved  chan struct{}
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	ln := must.Listen(t)
	r := &replica{t, ln, make(chan *duplex.Conn, 1), make(chan struct{})}
	t.Cleanup(func() { ln.Close() })
	server := mcpserver.Demo()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			session := server.Open(nil)
			r.joined <- duplex.NewConn(hop.Stream(conn, 1<<20), duplex.ConnOptions{
				Handler: session, Strict: true, CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
				Tags: hop.Asked(func(ctx context.Context, _ string) context.Context { return ctx }),
			})
		}
	}()
	return r
}

// Where returns the replica as the place of the server.
func (r *replica) Where(string) upstream.Spot {
	return upstream.Spot{Node: "b", Epoch: 1, Change: r.moved, Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", r.ln.Addr().String())
	}}
}

func (r *replica) Begin(string, uint64) bool { return false }
func (r *replica) End(string)                {}
func (r *replica) Doubt(string, uint64)      {}

// The end of a connection to another replica is not a crash of the server: the
// connection is opened again at once, however often.
func TestConnectionToReplicaEnds(t *testing.T) {
	for name, end := range map[string]func(*duplex.Conn){
		"broken": func(c *duplex.Conn) { c.Close() },
		"left": func(c *duplex.Conn) {
			if err := c.Notify(context.Background(), &jsonrpc.Notification{Method: hop.Leaving}); err != nil {
				t.Error(err)
			}
			<-c.Done()
		},
	} {
		t.Run("cluster/place/"+name, func(t *testing.T) {
			r := newReplica(t)
			server := fake(t, "once")
			server.Place = config.PlaceOne
			w := newWorld(t, worldOptions{placer: r}, server)
			conn := <-r.joined
			for i := range 12 {
				w.echo("once", fmt.Sprint(i))
				end(conn)
				conn = <-r.joined
			}
			w.echo("once", "last")
			conn.Close()
			r.ln.Close()
		})
	}
}

// A session of another replica may make calls of several principals. From then on a
// question may belong to any of them, also on a connection that the session has to
// itself.
func TestQuestionsOfReplica(t *testing.T) {
	entry := fake(t, "a", "-era", "legacy")
	entry.Share = "session"
	w := newWorld(t, worldOptions{}, entry)
	w.state("a", upstream.Ready)
	c := session("there", mcp.Offer{Elicit: true})
	c.Peer = true
	t.Cleanup(c.Close)
	for _, tt := range []struct {
		principal, session string
		asked              int
	}{{"p", "1", 1}, {"p", "2", 1}, {"q", "1", 0}, {"p", "1", 0}} {
		r := newReplier()
		ctx := hop.WithClient(t.Context(), tt.principal, tt.session)
		_, err := w.up("a").Call(ctx, c, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"ask_name","arguments":{}}`), Back: r})
		if err != nil || len(r.asked) != tt.asked {
			t.Errorf("door/7: %s of %s is asked %d times, %v", tt.session, tt.principal, len(r.asked), err)
		}
	}
}
