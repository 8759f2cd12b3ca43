package peer

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/seal"
)

func node(t testing.TB, name, cluster string, secrets ...string) *Node {
	t.Helper()
	ring, err := seal.NewRing(cluster, secrets...)
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(Options{Cluster: cluster, Node: name, Advertise: "127.0.0.1:1", Ring: ring, WriteIdle: time.Minute, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// listen serves a node's peer port and returns its Owner.
func listen(t testing.TB, n *Node, serve http.HandlerFunc) Owner {
	t.Helper()
	ln, err := n.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := n.Server(nil, mcphttp.ServerLimits{}, serve, nil)
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	n.self.Address = ln.Addr().String()
	return n.self
}

// post returns a client's request that belongs to another replica.
func post(body string) *mcphttp.Away {
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
	r = r.WithContext(access.With(r.Context(), access.Principal{ID: "key:7", Name: "Zoë\x7f", Grant: access.Grant{ReadOnly: true}}))
	r.Header.Set("Authorization", "Bearer hidden")
	r.Header.Set("Aio-Principal", "forged")
	r.Header.Set("Mcp-Session-Id", "x")
	return &mcphttp.Away{Request: r, Principal: "key:7", Body: []byte(body), ID: []byte("1")}
}

// TestOnlyReplicas checks that only replicas of the same cluster can connect.
func TestOnlyReplicas(t *testing.T) {
	old, fresh := seal.NewSecret(), seal.NewSecret()
	a := node(t, "a", "team", old)
	owner := listen(t, a, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if who := access.From(r.Context()); who.ID != "key:7" || !who.ReadOnly || r.Header.Get("Authorization") != "" {
			t.Errorf("who asks: %+v, %v", who, r.Header)
		}
		w.Write(body)
	})
	for name, tt := range map[string]struct {
		node *Node
		want outcome
	}{
		"the same secret":  {node(t, "b", "team", old), answered},
		"rotation, before": {node(t, "b", "team", old, fresh), answered},
		"rotation, after":  {node(t, "b", "team", fresh, old), unreachable}, // a does not know the new secret yet
		"another secret":   {node(t, "b", "team", fresh), unreachable},
		"another cluster":  {node(t, "b", "other", old), unreachable},
	} {
		t.Run("cluster/peer/"+name, func(t *testing.T) {
			w := httptest.NewRecorder()
			if got := tt.node.forward(w, post("hello"), owner, false); got != tt.want || got == answered && w.Body.String() != "hello" {
				t.Errorf("outcome %d, %q", got, w.Body)
			}
		})
	}
	t.Run("cluster/peer/rotation, both know both", func(t *testing.T) {
		one, two := node(t, "a", "team", old, fresh), node(t, "b", "team", fresh, old)
		owner := listen(t, one, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) })
		if w := httptest.NewRecorder(); two.forward(w, post(""), owner, false) != answered || w.Body.String() != "ok" {
			t.Errorf("%q", w.Body)
		}
	})
	t.Run("cluster/peer/no certificate", func(t *testing.T) {
		conn, err := tls.Dial("tcp", owner.Address, &tls.Config{InsecureSkipVerify: true})
		if err == nil { // in TLS 1.3 the refusal comes with the first read
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("a stranger was let in: %v", err)
		}
	})
	t.Run("cluster/peer/another run", func(t *testing.T) {
		owner.Boot = "0000000000000000"
		if got := node(t, "b", "team", old).forward(httptest.NewRecorder(), post(""), owner, false); got != dead {
			t.Errorf("outcome %d", got)
		}
	})
}

// TestCertificateRenewed checks that a certificate is replaced before it expires.
func TestCertificateRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := node(t, "a", "team", seal.NewSecret()).certs
		first, _ := c.current()
		time.Sleep(certLife/2 - time.Minute)
		again, _ := c.current()
		time.Sleep(2 * time.Minute)
		second, err := c.current()
		if err != nil || !bytes.Equal(first.Certificate[0], again.Certificate[0]) || bytes.Equal(first.Certificate[0], second.Certificate[0]) {
			t.Errorf("not renewed: %v", err)
		}
	})
}

// FuzzPrincipal parses headers of replicas.
//
// fault/T51
func FuzzPrincipal(f *testing.F) {
	f.Add(principalText(access.Owner))
	f.Add("e30")
	f.Fuzz(func(t *testing.T, text string) {
		if p, ok := principalOf(text); ok && p.ID == "" {
			t.Errorf("nobody is taken for somebody: %q", text)
		}
	})
}

// TestSilence checks that a replica that accepts connections but sends nothing
// counts as possibly alive.
func TestSilence(t *testing.T) {
	ln := must.Listen(t)
	defer ln.Close()
	n := node(t, "b", "team", seal.NewSecret())
	began := time.Now()
	if got := n.forward(httptest.NewRecorder(), post(""), Owner{"a", "0", ln.Addr().String()}, false); got != unreachable || time.Since(began) > 10*time.Second {
		t.Errorf("outcome %d after %v", got, time.Since(began))
	}
}
