package upstream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/upstream"
)

// session returns a legacy client with a session.
func session(id string, offer mcp.Offer) *upstream.Caller {
	return &upstream.Caller{Session: id, Principal: "p", Version: mcp.LatestLegacy, Offer: offer}
}

// sameAsDirect checks that each client gets the answers that match its own offer,
// from the first call on, as if it were connected to the legacy server directly.
func sameAsDirect(t *testing.T, entry *config.Server, refused string) *world {
	t.Helper()
	w := newWorld(t, worldOptions{}, entry)
	w.state("a", upstream.Ready)
	for i, c := range []struct {
		tool  string
		offer mcp.Offer
		want  string
	}{
		{"show_roots", mcp.Offer{Roots: true}, "1 roots\nfile:///0"},
		{"show_roots", mcp.Offer{Roots: true, Sampling: true}, "1 roots\nfile:///1"},
		{"ask_model", mcp.Offer{Sampling: true}, "m says: yes"},
		{"ask_model", mcp.Offer{Elicit: true}, "no answer: " + fmt.Sprintf(refused, "sampling")},
		{"ask_name", mcp.Offer{Elicit: true}, "Hello, Ada!"},
		{"ask_name", mcp.Offer{}, "no answer: " + fmt.Sprintf(refused, "elicitation")},
		{"show_roots", mcp.Offer{Roots: true}, "1 roots\nfile:///6"},
		{"show_roots", mcp.Offer{}, "no answer: " + fmt.Sprintf(refused, "roots")},
	} {
		client := session(fmt.Sprint(i), c.offer)
		t.Cleanup(client.Close)
		for range 2 {
			if text, err := w.ask(client, newReplier(fmt.Sprint(i)), "a", c.tool, `{"prompt":"?"}`); text != c.want {
				t.Errorf("%s for %s: %q, %v, not %q", c.tool, c.offer.JSON(mcp.Rules(mcp.LatestLegacy), false), text, err, c.want)
			}
		}
	}
	return w
}

func TestOffers(t *testing.T) {
	legacy := func() *mcpserver.Server {
		s := mcpserver.Demo()
		s.Versions = mcpserver.LegacyVersions
		return s
	}
	t.Run("true/3 over HTTP a server is told what its client offers", func(t *testing.T) {
		sameAsDirect(t, serveHTTP(t, "a", legacy()), "the client does not offer %s")
	})
	t.Run("true/3 over HTTP the same offers share a connection", func(t *testing.T) {
		server := legacy()
		w := newWorld(t, worldOptions{}, serveHTTP(t, "a", server))
		w.state("a", upstream.Ready)
		for i, offer := range []mcp.Offer{{}, {Elicit: true}, {}, {Elicit: true}, {Sampling: true}} {
			w.echoAs(session(fmt.Sprint(i), offer), "a")
		}
		w.echoAs(&upstream.Caller{Era: mcp.Modern, Version: mcp.LatestModern, Offer: mcp.Offer{Elicit: true}}, "a")
		if n := server.Sessions(); n != 3 {
			t.Errorf("%d sessions for three sets of offers", n)
		}
	})
	t.Run("true/3 over HTTP connections are bounded", func(t *testing.T) {
		server := legacy()
		w := newWorld(t, worldOptions{}, serveHTTP(t, "a", server))
		w.state("a", upstream.Ready)
		for i := range 40 {
			w.echoAs(session(fmt.Sprint(i), mcp.Offer{Elicit: true, Extensions: fmt.Appendf(nil, `{"com.example/%d":{}}`, i)}), "a")
		}
		must.Await(t, "end of the oldest connections", func() bool { return server.Sessions() <= 17 })
	})
	y := newToy()
	bubble(t, "true/3 over HTTP idle connections close", y, func(t *testing.T, w *world, _ *wire) {
		w.state("a", upstream.Ready)
		w.echoAs(session("1", mcp.Offer{Elicit: true}), "a")
		if n := w.up("a").Status().Connections; n != 2 {
			t.Errorf("%d connections in use", n)
		}
		pass(15 * time.Minute)
		if n := w.up("a").Status().Connections; n != 1 {
			t.Errorf("%d connections after a while", n)
		}
		w.echoAs(session("2", mcp.Offer{Elicit: true}), "a")
	})
}

func TestOffersOverAPipe(t *testing.T) {
	t.Run("true/3 over a pipe the first question reaches its client", func(t *testing.T) {
		sameAsDirect(t, fake(t, "a", "-era", "legacy"), "the client does not offer %s")
	})
	t.Run("true/3 over a pipe a server that never asks is one process", func(t *testing.T) {
		w := newWorld(t, worldOptions{}, fake(t, "a", "-era", "legacy"))
		w.state("a", upstream.Ready)
		for i, offer := range []mcp.Offer{{}, {Elicit: true}, {Roots: true}, {Sampling: true}} {
			w.echoAs(session(fmt.Sprint(i), offer), "a")
		}
		if n := w.up("a").Status().Connections; n != 1 {
			t.Errorf("%d processes", n)
		}
	})
	t.Run("true/3 over a pipe who has learnt roots belongs to their client", func(t *testing.T) {
		w := newWorld(t, worldOptions{}, fake(t, "a", "-era", "legacy"))
		first := w.state("a", upstream.Ready)
		a, b := session("a", mcp.Offer{Roots: true}), session("b", mcp.Offer{Roots: true})
		w.echoAs(a, "a")
		w.echoAs(b, "a") // both share the connection
		for i, c := range []*upstream.Caller{a, b, a, b} {
			if text, err := w.ask(c, newReplier(c.Session), "a", "show_roots", `{}`); text != "1 roots\nfile:///"+c.Session {
				t.Errorf("call %d: %q, %v", i, text, err)
			}
		}
		if n := w.up("a").Status().Connections; n != 2 {
			t.Errorf("%d processes for two clients", n)
		}
		b.Close()
		a.Close()
		w.await("a process that knows no roots", "a", func(s upstream.Status) bool { return s.State == upstream.Ready && s.PID != first.PID })
	})
	t.Run("true/3 over a pipe a question of one client's call is not put to another", func(t *testing.T) {
		w := newWorld(t, worldOptions{}, fake(t, "a", "-era", "legacy"))
		w.state("a", upstream.Ready)
		able, other := session("able", mcp.Offer{Sampling: true}), newReplier()
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.ask(able, other, "a", "long_task", `{"seconds":2,"steps":2}`)
		}()
		must.Await(t, "call in flight", func() bool { return w.up("a").Status().Running == 1 })
		text, err := w.ask(session("unable", mcp.Offer{}), newReplier(), "a", "ask_model", `{"prompt":"?"}`)
		if !strings.HasPrefix(text, "no answer") || len(other.asked) != 0 {
			t.Errorf("%q, %v; the other client was asked %d times", text, err, len(other.asked))
		}
		<-done
	})
}

// lateAsker is a server on stdio. When it gets the second call, it asks a question
// because of the first one. It answers the second call together with the third.
const lateAsker = `calls=0
while read -r line; do
	id=${line#*'"id":'}; id=${id%%[,\}]*}
	say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
	answer() { say "$1" '"result":{"content":[{"type":"text","text":"'"$2"'"}]}'; }
	case $line in
	*'"server/discover"'*) say "$id" '"error":{"code":-32601,"message":"method not found"}' ;;
	*'"initialize"'*) say "$id" '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"late","version":"1"}}' ;;
	*'"tools/list"'*) say "$id" '"result":{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}' ;;
	*'"tools/call"'*)
		calls=$((calls+1))
		case $calls in
		1) first=$id; echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"begun"}}' ;;
		2) second=$id; say '"q"' '"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}' ;;
		3) answer "$second" second; answer "$id" third ;;
		esac ;;
	*'"accept"'*) answer "$first" first ;;
	*'"q"'*) answer "$first" 'not answered' ;;
	esac
done`

// A holder answers a question after may is closed.
type holder struct{ told, asked, may chan struct{} }

func (h *holder) Handle(ctx context.Context, _ jsonrpc.Peer, _ *jsonrpc.Request) (*jsonrpc.Response, error) {
	close(h.asked)
	select {
	case <-h.may:
		return &jsonrpc.Response{Result: []byte(`{"action":"accept","content":{}}`)}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (h *holder) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {
	close(h.told)
}

func TestQuestionsOfSeveralCalls(t *testing.T) {
	t.Run("true/3 over a pipe a question does not end with another call", func(t *testing.T) {
		entry := fake(t, "a", "-c", lateAsker)
		entry.Command = "sh"
		w := newWorld(t, worldOptions{}, entry)
		w.state("a", upstream.Ready)
		c, h := session("1", mcp.Offer{Elicit: true}), &holder{make(chan struct{}), make(chan struct{}), make(chan struct{})}
		t.Cleanup(c.Close)
		call := func() <-chan string {
			answer := make(chan string, 1)
			go func() {
				text, err := w.ask(c, h, "a", "ask", `{}`)
				answer <- fmt.Sprint(text, " ", err)
			}()
			return answer
		}
		first := call()
		<-h.told
		second := call()
		<-h.asked
		if got := <-call(); got != "third <nil>" {
			t.Errorf("the third call: %s", got)
		}
		if got := <-second; got != "second <nil>" {
			t.Errorf("the second call: %s", got)
		}
		close(h.may)
		if got := <-first; got != "first <nil>" {
			t.Errorf("the first call: %s", got)
		}
	})
}
