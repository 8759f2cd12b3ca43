package hop

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
)

type principalKey struct{}

// naming answers with the client and the principal that a call is for.
type naming struct{}

func (naming) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return &jsonrpc.Response{Result: named(Client(ctx), ctx.Value(principalKey{}).(string), len(req.Params))}, nil
}

func (naming) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

func named(client, principal string, size int) []byte {
	return fmt.Appendf(nil, "[%s,%s,%d]", jsonrpc.Quote(client), jsonrpc.Quote(principal), size)
}

// connect joins two ends of a connection between replicas.
func connect(t *testing.T, limit int64) *jsonrpc.Conn {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	near, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	with := func(ctx context.Context, principal string) context.Context {
		return context.WithValue(ctx, principalKey{}, principal)
	}
	answering := jsonrpc.NewConn(Stream(far, limit), jsonrpc.ConnOptions{Handler: naming{}, Strict: true, Tags: Asked(with)})
	asking := jsonrpc.NewConn(Stream(near, limit), jsonrpc.ConnOptions{Tags: Asking()})
	t.Cleanup(func() { asking.Close(); answering.Close() })
	return asking
}

// Each call names its client, however many there are, and whatever they are
// called and say.
func TestClients(t *testing.T) {
	t.Run("cluster/place/client", func(t *testing.T) {
		conn := connect(t, 1<<20)
		var all sync.WaitGroup
		for i := range 3 * maxKnown {
			all.Go(func() {
				principal, session := fmt.Sprintf("key:{é\n@%d}", i/3), fmt.Sprint(i%3)
				params := []byte("{\n \"a\": \"b\"\r\n}") // which a line cannot carry as it is
				resp, err := conn.Call(WithClient(t.Context(), principal, session), &jsonrpc.Request{Method: "who", Params: params})
				if want := string(named(principal+"\x00"+session, principal, 9)); err != nil || string(resp.Result) != want {
					t.Errorf("got %+v, %v, want %s", resp, err, want)
				}
			})
		}
		all.Wait()
		if resp, err := conn.Call(t.Context(), &jsonrpc.Request{Method: "who"}); err != nil || string(resp.Result) != `["","",0]` {
			t.Errorf("nobody: %+v, %v", resp, err)
		}
	})
	t.Run("cluster/place/too large", func(t *testing.T) {
		conn := connect(t, 1<<20)
		large := []byte(`{"a":"` + strings.Repeat("x", 2<<20) + `"}`)
		if resp, err := conn.Call(t.Context(), &jsonrpc.Request{Method: "who", Params: large}); err != nil || resp.Err == nil {
			t.Errorf("too large: %+v, %v", resp, err)
		}
		if resp, err := conn.Call(t.Context(), &jsonrpc.Request{Method: "who", Params: []byte(`{}`)}); err != nil || resp.Err != nil {
			t.Errorf("after it: %+v, %v", resp, err)
		}
	})
}
