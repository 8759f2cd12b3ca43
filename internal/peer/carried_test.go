package peer

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/seal"
)

// pipes carries connections to one node, like NATS.
type pipes struct {
	net.Listener
	arrived chan net.Conn
}

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p.arrived
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (pipes) Addr() net.Addr { return &net.UnixAddr{} }
func (pipes) Close() error   { return nil }

// TestCarriedAddress checks that a replica without a peer port is reached through
// the engine, reaches all others that way, and takes sessions last.
func TestCarriedAddress(t *testing.T) {
	for _, name := range []string{"laptop", "a.example", "Büro/7", "x:1#?@"} {
		if got, ok := carriedNode(CarriedAddress(name)); !ok || got != name {
			t.Errorf("%q became %q", name, got)
		}
	}
	for _, address := range []string{"", "127.0.0.1:1", "carried.invalid:1", "zz" + carriedSuffix, carriedSuffix + ".example:1"} {
		if node, ok := carriedNode(address); ok && node != "" {
			t.Errorf("%s is the address of %q", address, node)
		}
	}
	secret := seal.NewSecret()
	laptop, b := node(t, "laptop 7", "team", secret), node(t, "b", "team", secret)
	laptop.self.Address = CarriedAddress("laptop 7")
	ln := pipes{arrived: make(chan net.Conn)}
	srv := laptop.Server(nil, mcphttp.ServerLimits{}, func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("carried for " + access.From(r.Context()).ID))
	}, nil)
	go srv.Serve(Carried(laptop, ln))
	t.Cleanup(func() { close(ln.arrived); srv.Close() })
	b.opt.Carry = func(_ context.Context, node string) (net.Conn, error) {
		if node != "laptop 7" {
			t.Errorf("%q is called", node)
		}
		here, there := net.Pipe()
		ln.arrived <- there
		return here, nil
	}
	w := httptest.NewRecorder()
	if got := b.forward(w, post("{}"), laptop.self, false); got != answered || w.Body.String() != "carried for key:7" {
		t.Errorf("%d %q", got, w.Body)
	}
	if Reach(laptop, b.self) != CarriedAddress("b") || Reach(b, b.self) != b.self.Address {
		t.Error("it does not reach the others through the engine")
	}
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		if rank(id, laptop.self) > rank(id, b.self) {
			t.Errorf("it takes session %s first", id)
		}
	}
}
