package peer

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/seal"
)

// having is a replica that has a server in epoch 7. The server echoes each line
// after its own name.
func having(t *testing.T, secret string) (*Node, Owner) {
	t.Helper()
	n := node(t, "a", "team", secret)
	n.opt.Holds = func(server string, epoch uint64) bool { return server == "de fault/ser/ver" && epoch == 7 }
	ln, err := n.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := n.Server(nil, mcphttp.ServerLimits{}, http.NotFound, func(j *Join) {
		lines := bufio.NewScanner(j)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			if _, err := io.WriteString(j, j.Server+": "+lines.Text()+"\n"); err != nil {
				return
			}
		}
	})
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	n.self.Address = ln.Addr().String()
	return n, n.self
}

// TestDialPlaced checks that a replica can connect to a server of another replica
// only in the requested epoch and run.
func TestDialPlaced(t *testing.T) {
	secret := seal.NewSecret()
	has, owner := having(t, secret)
	other := node(t, "b", "team", secret)
	other.opt.Ended = func(_ context.Context, o Owner) bool { return o.Boot != owner.Boot }
	heard := ""
	there := Placed{Node: other, Owner: owner, Server: "de fault/ser/ver", Epoch: 7, Refused: func() { heard = "refused" }, Dead: func() { heard = "dead" }}
	t.Run("cluster/place/dial", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		conn, err := there.Dial(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		cancel() // ends only the dialling
		lines := bufio.NewReader(conn)
		for _, text := range []string{"one", strings.Repeat("x", 3<<20)} {
			go io.WriteString(conn, text+"\n")
			if got, err := lines.ReadString('\n'); err != nil || got != "de fault/ser/ver: "+text+"\n" {
				t.Fatalf("got %.80q, %v", got, err)
			}
		}
	})
	for name, tt := range map[string]struct {
		change func(*Placed)
		want   string
	}{
		"another epoch":   {func(p *Placed) { p.Epoch = 8 }, "refused"},
		"another server":  {func(p *Placed) { p.Server = "default/other" }, "refused"},
		"another run":     {func(p *Placed) { p.Owner.Boot = "0000000000000000" }, "dead"},
		"nobody there":    {func(p *Placed) { p.Owner.Address = "127.0.0.1:1" }, "dead"},
		"no such name":    {func(p *Placed) { p.Owner.Address = "a.invalid:1" }, ""},
		"another cluster": {func(p *Placed) { p.Node = node(t, "b", "other", secret) }, ""},
	} {
		t.Run("cluster/place/dial/"+name, func(t *testing.T) {
			to := there
			tt.change(&to)
			heard = ""
			if conn, err := to.Dial(t.Context()); err == nil || heard != tt.want {
				t.Errorf("%v, %v, heard %q", conn, err, heard)
			}
		})
	}
	t.Run("cluster/place/no connection", func(t *testing.T) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+owner.Address+placedPath(there.Server), strings.NewReader("{}"))
		req.Header[headerHop], req.Header[headerBoot], req.Header[headerEpoch] = []string{"1"}, []string{owner.Boot}, []string{"7"}
		resp, err := other.transport.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusBadRequest {
			t.Fatalf("%+v, %v", resp, err)
		}
		resp.Body.Close()
	})
	t.Run("cluster/place/not read", func(t *testing.T) {
		has.opt.WriteIdle = 100 * time.Millisecond
		conn, err := there.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for range 8 { // far more than the kernel buffers
			if _, err := io.WriteString(conn, strings.Repeat("x", 7<<20)+"\n"); err != nil {
				return // expected: the other side does not read
			}
		}
		if _, err := io.Copy(io.Discard, conn); err == nil {
			t.Error("the connection has not been cut")
		}
	})
	t.Run("cluster/place/leave", func(t *testing.T) {
		conn, err := there.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		left := make(chan struct{})
		go func() {
			defer close(left)
			has.Leave(t.Context())
		}()
		<-has.joins.leave.Done()
		if _, err := there.Dial(t.Context()); err == nil || heard != "refused" {
			t.Errorf("let in: %v, heard %q", err, heard)
		}
		select {
		case <-left:
			t.Error("a connection was not waited for")
		default:
		}
		conn.Close()
		select {
		case <-left:
		case <-time.After(10 * time.Second):
			t.Error("still waiting")
		}
	})
}
