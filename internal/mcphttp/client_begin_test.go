//go:build linux

package mcphttp

import (
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
)

// behaviours are what a server may do with a call.
var behaviours = []struct {
	name   string
	answer func(w http.ResponseWriter, id []byte, said <-chan []byte)
	want   string // is part of the description
}{
	{"answer", func(w http.ResponseWriter, id []byte, _ <-chan []byte) { answerJSON(w, id, `{"a":1}`) }, `result {"a":1}`},
	{"error", body(200, "application/json", `{"jsonrpc":"2.0","id":%s,"error":{"code":-5,"message":"no"}}`), "no"},
	{"error of no id", body(200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-5,"message":"no"}}%.0s`), "no"},
	{"members in another order", body(200, "application/json", `{"result":{"a":1},"id":%s,"jsonrpc":"2.0"}`), `result {"a":1}`},
	{"another id", body(200, "application/json", `{"jsonrpc":"2.0","id":9%s,"result":{}}`), "does not belong"},
	{"id as text", body(200, "application/json", `{"jsonrpc":"2.0","id":"%s","result":{}}`), "does not belong"},
	{"no JSON", body(200, "application/json", `{"jsonrpc":%.0s`), "cannot be read"},
	{"empty", body(200, "application/json", `%.0s`), "cannot be read"},
	{"batch", body(200, "application/json", `[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":%s,"result":{"a":1}}]`), `result {"a":1}`},
	{"batch without ours", body(200, "application/json", `[{"jsonrpc":"2.0","id":9%s,"result":{}}]`), "does not belong"},
	{"large", body(200, "application/json", `{"jsonrpc":"2.0","id":%s,"result":{"x":"`+strings.Repeat("x", 1200)+`"}}`), "large true"},
	{"large text", body(200, "application/json", `{"jsonrpc":"2.0","id":%s,"result":"`+strings.Repeat("x", 1200)+`"}`), "large true"},
	{"larger than a buffer", body(200, "application/json", `{"jsonrpc":"2.0","id":%s,"result":"`+strings.Repeat("x", 100<<10)+`"}`), "large true"},
	{"no MCP", body(200, "text/html", `<p>%s`), "neither JSON"},
	{"accepted", body(202, "", `%.0s`), "is empty"},
	{"400", body(400, "text/plain", `bad%.0s`), "status 400"},
	{"400 with an error", body(400, "application/json", `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}`), "true; "},
	{"401", body(401, "text/plain", `who%.0s`), "status 401"},
	{"403 with an error", body(403, "application/json", `{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"no"}}`), "status 403"},
	{"404", body(404, "text/plain", `gone%.0s`), "status 404"},
	{"503", body(503, "text/plain", `later%.0s`), "status 503"},
	{"307", func(w http.ResponseWriter, _ []byte, _ <-chan []byte) {
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}, "not followed"},
	{"compressed", func(w http.ResponseWriter, id []byte, _ <-chan []byte) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprintf(z, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
		z.Close()
	}, "compressed"},
	{"in chunks", func(w http.ResponseWriter, id []byte, _ <-chan []byte) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0",`)
		_ = http.NewResponseController(w).Flush()
		fmt.Fprintf(w, `"id":%s,"result":{"a":1}}`, id)
	}, `result {"a":1}`},
	{"early hints first", func(w http.ResponseWriter, id []byte, _ <-chan []byte) {
		w.WriteHeader(http.StatusEarlyHints)
		answerJSON(w, id, `{"a":1}`)
	}, `result {"a":1}`},
	{"closed after", func(w http.ResponseWriter, id []byte, _ <-chan []byte) {
		w.Header().Set("Connection", "close")
		answerJSON(w, id, `{"a":1}`)
	}, `result {"a":1}`},
	{"closed before", raw(``), "closed the connection before"},
	{"closed in the head", raw("HTTP/1.1 200 OK\r\nContent-Type: appli"), "not sent false"},
	{"closed in the body", raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"), "ended true"},
	{"no HTTP", raw("220 mail.example ESMTP\r\n\r\n"), "not sent false"},
	{"old HTTP", raw("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":1}}"), `result {"a":1}`},
	{"more behind it", raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 42\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":1}} HTTP/1.1"), `result {"a":1}`},
	{"stream", func(w http.ResponseWriter, id []byte, _ <-chan []byte) {
		events(w)(`data: {"jsonrpc":"2.0","id":%s,"result":{"a":1}}`, id)
	}, `result {"a":1}`},
	{"stream with a question", func(w http.ResponseWriter, id []byte, said <-chan []byte) {
		send := events(w)
		send(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`)
		send(`data: {"jsonrpc":"2.0","id":77,"method":"roots/list"}`)
		send(`data: {"jsonrpc":"2.0","id":%s,"result":%s}`, id, <-said)
	}, `result {"asked":"roots/list"}, error <nil>; heard notifications/progress{"progress":1}`},
	{"stream whose hearer fails", func(w http.ResponseWriter, id []byte, _ <-chan []byte) {
		send := events(w)
		send(`data: {"jsonrpc":"2.0","method":"panic"}`)
		send(`data: {"jsonrpc":"2.0","id":%s,"result":{"a":1}}`, id)
	}, `result {"a":1}`},
	{"stream that is cut", func(w http.ResponseWriter, _ []byte, _ <-chan []byte) {
		events(w)(`data: {"jsonrpc":"2.0","method":"notifications/x"}`)
	}, "ended true"},
	{"stream with a large event", func(w http.ResponseWriter, _ []byte, _ <-chan []byte) {
		events(w)(`data: "%s"`, strings.Repeat("x", 2000))
	}, "large true"},
}

// body answers with a text that the id is set into.
func body(status int, kind, format string) func(http.ResponseWriter, []byte, <-chan []byte) {
	return func(w http.ResponseWriter, id []byte, _ <-chan []byte) {
		text := fmt.Sprintf(format, id)
		w.Header()["Content-Type"] = nil
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}
}

// raw writes a text to the connection and closes that.
func raw(text string) func(http.ResponseWriter, []byte, <-chan []byte) {
	return func(w http.ResponseWriter, _ []byte, _ <-chan []byte) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = conn.Write([]byte(text))
		_ = conn.Close()
	}
}

// A listening handler fails at one notification.
type listening struct{ *heard }

func (h listening) HandleNotification(ctx context.Context, p jsonrpc.Peer, n *jsonrpc.Notification) {
	if n.Method == "panic" {
		panic(n.Method)
	}
	h.heard.HandleNotification(ctx, p, n)
}

// TestBeginIsCall makes each call both ways, on a connection that was kept.
func TestBeginIsCall(t *testing.T) {
	for _, tc := range behaviours {
		t.Run(tc.name, func(t *testing.T) {
			outcomes := map[string]string{}
			for _, way := range []string{"call", "begin"} {
				var calls atomic.Int32
				said := make(chan []byte, 1)
				c := serve(t, ClientOptions{MaxMessage: 1000}, func(w http.ResponseWriter, r *http.Request) {
					msg := receive(r)
					switch {
					case msg.Kind == jsonrpc.KindResult:
						said <- msg.Result
						w.WriteHeader(http.StatusAccepted)
					case msg.Method == "ping":
						answerJSON(w, msg.ID, `{}`)
					default:
						calls.Add(1)
						tc.answer(w, msg.ID, said)
					}
				})
				call(t, c, "ping", "").Release()
				h := listening{newHeard()}
				h.answer = func(_ context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
					return jsonrpc.NewResponse(fmt.Appendf(nil, `{"asked":%q}`, req.Method), nil), nil
				}
				ctx, req, e := lateContext(t.Context()), &jsonrpc.Request{Method: "tools/call", Params: []byte(`{"name":"x"}`), Back: h}, ending{}
				if way == "call" {
					e.resp, e.err = c.Call(ctx, req)
				} else {
					e = next(t, start(t, c, ctx, req))
				}
				outcomes[way] = describe(e)
				for len(h.notes) > 0 {
					outcomes[way] += "heard " + <-h.notes
				}
				if n := calls.Load(); n != 1 {
					t.Errorf("%s: the server saw %d calls", way, n)
				}
				call(t, c, "ping", "").Release()
				settled(t, c)
			}
			if outcomes["call"] != outcomes["begin"] || !strings.Contains(outcomes["begin"], tc.want) {
				t.Errorf("Call:  %s\nBegin: %s\nwant %s", outcomes["call"], outcomes["begin"], tc.want)
			}
		})
	}
}
