package hop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
)

type principalKey struct{}

// naming answers with the client and the principal of a call. If requested, it
// waits for the end of a call.
type naming struct{ ended chan error }

func (n naming) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if req.Method == "wait" {
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		n.ended <- nil
		<-child.Done()
		n.ended <- context.Cause(child)
		return nil, child.Err()
	}
	return &jsonrpc.Response{Result: named(Client(ctx), ctx.Value(principalKey{}).(string), len(req.Params))}, nil
}

func (naming) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

func named(client, principal string, size int) []byte {
	return fmt.Appendf(nil, "[%s,%s,%d]", jsonrpc.Quote(client), jsonrpc.Quote(principal), size)
}

// connect returns both ends of a connection between replicas.
func connect(t *testing.T, limit int64) (*duplex.Conn, naming) {
	t.Helper()
	near, far := must.Pair(t)
	with := func(ctx context.Context, principal string) context.Context {
		return context.WithValue(ctx, principalKey{}, principal)
	}
	n := naming{make(chan error, 2)}
	answering := duplex.NewConn(Stream(far, limit), duplex.ConnOptions{Handler: n, Strict: true, Tags: Asked(with), CancelMethod: mcp.NotificationCancelled})
	asking := duplex.NewConn(Stream(near, limit), duplex.ConnOptions{Tags: Asking(), CancelMethod: mcp.NotificationCancelled})
	t.Cleanup(func() { asking.Close(); answering.Close() })
	return asking, n
}

// Each call names its client, whatever the number, the names and the messages of
// the clients.
func TestClients(t *testing.T) {
	t.Run("cluster/place/client", func(t *testing.T) {
		conn, _ := connect(t, 1<<20)
		var all sync.WaitGroup
		for i := range 3 * maxKnown {
			all.Go(func() {
				principal, session := fmt.Sprintf("key:{é\n@%d}", i/3), fmt.Sprint(i%3)
				params := []byte("{\n \"a\": \"b\"\r\n}") // a line cannot carry the line breaks
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
	t.Run("cluster/place/cancel", func(t *testing.T) {
		conn, n := connect(t, 1<<20)
		ctx, cancel := context.WithCancel(WithClient(t.Context(), "key:1", ""))
		go func() {
			<-n.ended
			cancel()
		}()
		if _, err := conn.Call(ctx, &jsonrpc.Request{Method: "wait"}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := <-n.ended; !errors.Is(err, jsonrpc.ErrCancelled) {
			t.Errorf("the call there ended by %v", err)
		}
	})
	t.Run("cluster/place/too large", func(t *testing.T) {
		conn, _ := connect(t, 1<<20)
		large := []byte(`{"a":"` + strings.Repeat("x", 2<<20) + `"}`)
		if resp, err := conn.Call(t.Context(), &jsonrpc.Request{Method: "who", Params: large}); err != nil || resp.Err == nil {
			t.Errorf("too large: %+v, %v", resp, err)
		}
		if resp, err := conn.Call(t.Context(), &jsonrpc.Request{Method: "who", Params: []byte(`{}`)}); err != nil || resp.Err != nil {
			t.Errorf("after it: %+v, %v", resp, err)
		}
	})
}
