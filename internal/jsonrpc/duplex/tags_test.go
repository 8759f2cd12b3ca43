package duplex

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"mcp-all-in-one/internal/jsonrpc"
)

type whoKey struct{}

// Clients that share a connection with tags receive the messages of their own
// calls, and the callee knows the client of each call.
func TestTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := funcs{handle: func(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			who, _ := ctx.Value(whoKey{}).(string)
			if err := from.Notify(ctx, &jsonrpc.Notification{Method: "progress", Params: fmt.Appendf(nil, "{%q:1}", who)}); err != nil {
				return nil, err
			}
			resp, err := from.Call(ctx, &jsonrpc.Request{Method: "who"})
			if err != nil || resp.Err != nil {
				return resp, err
			}
			return done(fmt.Sprintf(`{"said":%s,"tag":%q}`, resp.Result, who))
		}}
		stranger := funcs{
			handle: func(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
				return done(`"stranger"`)
			},
			notify: func(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) { t.Errorf("heard %s", n.Params) },
		}
		a, b := Pipe()
		asking := NewConn(a, ConnOptions{Handler: stranger, Tags: &Tags{For: func(ctx context.Context) string { return "=" + ctx.Value(whoKey{}).(string) }}})
		answering := NewConn(b, ConnOptions{Handler: server, Strict: true, Tags: &Tags{Asked: func(ctx context.Context, tag []byte) context.Context {
			return context.WithValue(ctx, whoKey{}, string(tag[1:]))
		}}})
		defer answering.Close()
		defer asking.Close()
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				name, heard := fmt.Sprint("c", i), ""
				back := funcs{
					handle: func(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
						return done(fmt.Sprintf("%q", name))
					},
					notify: func(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) { heard += string(n.Params) },
				}
				resp, err := asking.Call(context.WithValue(t.Context(), whoKey{}, name), &jsonrpc.Request{Method: "tell", Back: back})
				if err != nil || string(resp.Result) != fmt.Sprintf(`{"said":%q,"tag":%q}`, name, name) || heard != fmt.Sprintf("{%q:1}", name) {
					t.Errorf("%s: %+v, %v, heard %q", name, resp, err, heard)
				}
			})
		}
		all.Wait()
	})
}

// A message for a call that has ended is dropped. If the call has no Back, the
// handler of the connection gets the message.
func TestTagsOfNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		s, c := raw(t, ConnOptions{Tags: &Tags{}, Handler: funcs{
			handle: func(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
				return done(`"here"`)
			},
			notify: func(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) { heard = append(heard, n.Method) },
		}})
		go c.Call(t.Context(), &jsonrpc.Request{Method: "ping"})
		expect(t, s, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		for _, tag := range []string{"@2", "@", "@x", "@18446744073709551616"} {
			send(t, s, tag+`{"jsonrpc":"2.0","method":"lost"}`)
			send(t, s, tag+`{"jsonrpc":"2.0","id":7,"method":"who"}`)
			if got := next(t, s); !strings.Contains(got, `"error"`) {
				t.Errorf("%s: %s", tag, got)
			}
		}
		send(t, s, `@1{"jsonrpc":"2.0","method":"mine"}`)
		send(t, s, `@1{"jsonrpc":"2.0","id":8,"method":"who"}`)
		expect(t, s, `{"jsonrpc":"2.0","result":"here","id":8}`)
		send(t, s, `no message at all`)
		send(t, s, `=x{"jsonrpc":"2.0","method":"after"}`)
		synctest.Wait()
		if got := strings.Join(heard, " "); got != "mine after" {
			t.Errorf("heard %q", got)
		}
	})
}
