package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestClientLegacySession(t *testing.T) {
	seen := make(chan received, 10)
	c := serve(t, ClientOptions{Header: http.Header{
		"X-Team": {"blue"}, "Connection": {"x-drop"}, "X-Drop": {"1"}, "Mcp-Session-Id": {"forged"}, "Transfer-Encoding": {"chunked"},
	}}, func(w http.ResponseWriter, r *http.Request) {
		msg := receive(r)
		seen <- msg
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case msg.Kind == jsonrpc.KindNotification:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Mcp-Session-Id", "s-1")
			answerJSON(w, msg.ID, `{"protocolVersion":"2025-06-18"}`)
		}
	})

	resp := call(t, c, mcp.MethodInitialize, `{"protocolVersion":"2025-06-18"}`)
	if got := string(resp.Result); got != `{"protocolVersion":"2025-06-18"}` {
		t.Errorf("result %s", got)
	}
	resp.Release()
	c.SetVersion(mcp.V2025_06_18)
	must.OK(t, c.Notify(t.Context(), &jsonrpc.Notification{Method: mcp.NotificationInitialized}))
	call(t, c, "tools/list", "").Release()
	call(t, c, mcp.MethodInitialize, `{}`).Release()
	must.OK(t, c.Close(t.Context()))

	var got [][]string
	for range 5 {
		m := next(t, seen)
		h := m.Header
		got = append(got, []string{m.HTTP, m.Method, h.Get("Mcp-Session-Id"), h.Get("MCP-Protocol-Version"), h.Get("X-Team"),
			h.Get("Accept"), h.Get("X-Drop") + h.Get("Mcp-Method") + h.Get("Accept-Encoding")})
	}
	const accept = "application/json, text/event-stream"
	want := [][]string{
		{"POST", "initialize", "", "", "blue", accept, ""},
		{"POST", "notifications/initialized", "s-1", "2025-06-18", "blue", accept, ""},
		{"POST", "tools/list", "s-1", "2025-06-18", "blue", accept, ""},
		{"POST", "initialize", "", "", "blue", accept, ""},
		{"DELETE", "", "s-1", "", "blue", accept, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if _, err := c.Call(t.Context(), &jsonrpc.Request{Method: "ping"}); !errors.Is(err, jsonrpc.ErrClosed) {
		t.Errorf("call after Close: %v", err)
	}
}

func TestClientModernHeaders(t *testing.T) {
	seen := make(chan received, 10)
	c := serve(t, ClientOptions{Modern: true, ParamHeaders: func(tool string, arguments []byte) http.Header {
		region, _ := jsonrpc.GetString(arguments, "region")
		return http.Header{"Mcp-Param-Region": {region}, "Authorization": {"smuggled"}}
	}}, func(w http.ResponseWriter, r *http.Request) {
		msg := receive(r)
		seen <- msg
		w.Header().Set("Mcp-Session-Id", "ignored")
		answerJSON(w, msg.ID, `{}`)
	})
	c.OpenStream(t.Context()) // must not send anything
	tests := []struct{ method, params, name, region string }{
		{"tools/list", `{}`, "", ""},
		{"tools/call", `{"name":"weather","arguments":{"region":"eu-1"}}`, "weather", "eu-1"},
		{"tools/call", `{"name":"été","arguments":{"region":" padded"}}`, "=?base64?w6l0w6k=?=", "=?base64?IHBhZGRlZA==?="},
		{"tools/call", `{"name":"=?base64?eA==?=","arguments":{}}`, "=?base64?PT9iYXNlNjQ/ZUE9PT89?=", ""},
		{"prompts/get", `{"name":"p"}`, "p", ""},
		{"resources/read", `{"uri":"file:///a b"}`, "file:///a b", ""},
		{"tasks/get", `{"taskId":"t1"}`, "t1", ""},
	}
	for _, tt := range tests {
		call(t, c, tt.method, tt.params).Release()
		h := next(t, seen).Header
		want := []string{"2026-07-28", tt.method, tt.name, tt.region, "", ""}
		got := []string{h.Get("MCP-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name"), h.Get("Mcp-Param-Region"), h.Get("Mcp-Session-Id"), h.Get("Authorization")}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.method, tt.params, diff)
		}
	}
	must.OK(t, c.Close(t.Context()))
	if len(seen) != 0 {
		t.Errorf("a modern client sent %s", (<-seen).HTTP)
	}
}

func TestClientRefusals(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		ours       bool // the body names our id
		code       int64
		modern     bool
	}{
		{name: "text", status: 404, body: "not here"},
		{name: "unauthorized", status: 401},
		{name: "header mismatch", status: 400, body: `{"code":-32020,"message":"m"}`, code: -32020, modern: true},
		{name: "capability missing", status: 400, body: `{"code":-32021,"message":"m","data":{}}`, code: -32021, modern: true},
		{name: "version", status: 400, body: `{"code":-32022,"message":"m"}`, code: -32022, modern: true},
		{name: "unknown method", status: 404, body: `{"code":-32601,"message":"m"}`, ours: true, code: -32601, modern: true},
		{name: "bad _meta", status: 400, body: `{"code":-32602,"message":"m"}`, ours: true, code: -32602, modern: true},
		{name: "no id", status: 404, body: `{"code":-32601,"message":"m"}`, code: -32601},
		{name: "session not found", status: 404, body: `{"code":-32001,"message":"m"}`, code: -32001},
		{name: "legacy bad request", status: 400, body: `{"code":-32000,"message":"m"}`, ours: true, code: -32000},
		{name: "server error", status: 503, body: strings.Repeat("x", 100<<10)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
				msg := receive(r)
				body := tt.body
				if strings.HasPrefix(body, "{") {
					id := "null"
					if tt.ours {
						id = string(msg.ID)
					}
					body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, id, body)
				}
				w.Header().Set("Retry-After", "3")
				w.WriteHeader(tt.status)
				fmt.Fprint(w, body)
			})
			resp, err := c.Call(t.Context(), &jsonrpc.Request{Method: "server/discover"})
			var status *StatusError
			if !errors.As(err, &status) {
				t.Fatalf("error %v, want a StatusError", err)
			}
			if status.Status != tt.status || status.Modern != tt.modern || status.Header.Get("Retry-After") != "3" || len(status.Body) > 64<<10 {
				t.Errorf("got status %d, modern %v, %d bytes of body", status.Status, status.Modern, len(status.Body))
			}
			if tt.code == 0 {
				if resp != nil {
					t.Errorf("response %+v for a body that holds none", resp)
				}
			} else if resp == nil || resp.Err.Code != tt.code {
				t.Errorf("response %+v, want code %d", resp, tt.code)
			}
			if err := c.Notify(t.Context(), &jsonrpc.Notification{Method: "notifications/x"}); !errors.As(err, &status) {
				t.Errorf("Notify: %v, want a StatusError", err)
			}
		})
	}
}

func TestClientAnswers(t *testing.T) {
	tests := []struct {
		name, body string // %s is replaced by our id
		want       string
		code       int64
		bad        bool
	}{
		{name: "id last", body: `{"result":{"a":1},"jsonrpc":"2.0","id":%s}`, want: `{"a":1}`},
		{name: "spaces", body: ` { "jsonrpc" : "2.0", "id" : %s, "result" : [ 1 ] } `, want: `[ 1 ]`},
		{name: "error", body: `{"jsonrpc":"2.0","id":%s,"error":{"code":-5,"message":"no"}}`, code: -5},
		{name: "error without id", body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, code: -32700},
		{name: "corpus/U07", body: `{"jsonrpc":"2.0","id":%s,"error":{"code":"x"}}`, code: -32603},
		{name: "batch", body: `[{"jsonrpc":"2.0","method":"notifications/a"},{"jsonrpc":"2.0","id":%s,"result":7}]`, want: `7`},
		{name: "corpus/U03", body: `{"jsonrpc":"2.0","id":99,"result":{}}`, bad: true},
		{name: "corpus/U04", body: `{"jsonrpc":"2.0","id":"%s","result":{"a":1}}`, want: `{"a":1}`},
		{name: "corpus/U05", body: `{"jsonrpc":"2.0","id":%s.0,"result":{"a":1}}`, want: `{"a":1}`},
		{name: "corpus/U06", body: `{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":"m"}}`, bad: true},
		{name: "garbage", body: `{"jsonrpc":`, bad: true},
		{name: "empty", body: ``, bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHeard()
			c := serve(t, ClientOptions{Handler: h}, func(w http.ResponseWriter, r *http.Request) {
				msg := receive(r)
				w.Header().Set("Content-Type", "application/json; charset=utf-8")
				fmt.Fprint(w, strings.Replace(tt.body, "%s", string(msg.ID), 1))
			})
			resp, err := c.Call(t.Context(), &jsonrpc.Request{Method: "x"})
			if tt.bad {
				if !errors.Is(err, jsonrpc.ErrBadAnswer) {
					t.Errorf("error %v, want ErrBadAnswer", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.code != 0 && (resp.Err == nil || resp.Err.Code != tt.code) {
				t.Errorf("got %+v, want code %d", resp.Err, tt.code)
			}
			if string(resp.Result) != tt.want {
				t.Errorf("result %s, want %s", resp.Result, tt.want)
			}
			if tt.name == "batch" && next(t, h.notes) != "notifications/a" {
				t.Error("the notification of the batch was lost")
			}
		})
	}
}

func TestClientBadURL(t *testing.T) {
	for _, raw := range []string{"", "ftp://x/", "http://", "/mcp", "http://a b/"} {
		c := NewClient(ClientOptions{URL: raw})
		if _, err := c.Call(t.Context(), &jsonrpc.Request{Method: "ping"}); err == nil {
			t.Errorf("%q: called", raw)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestClientBasicAuth(t *testing.T) {
	seen := make(chan string, 1)
	c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		user, pass, _ := r.BasicAuth()
		seen <- user + "/" + pass
		answerJSON(w, receive(r).ID, `{}`)
	})
	with := NewClient(ClientOptions{URL: strings.Replace(c.opt.URL, "http://", "http://me:secret@", 1)})
	defer with.Close(context.Background())
	call(t, with, "ping", "").Release()
	if got := next(t, seen); got != "me/secret" {
		t.Errorf("server saw %q", got)
	}
}
