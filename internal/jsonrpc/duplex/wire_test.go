package duplex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/corpus"
)

// TestConnCorpus sends each message of the corpus to a connection, as it would
// arrive as a line of stdio.
func TestConnCorpus(t *testing.T) {
	for _, row := range corpus.Load(t, "../../..") {
		if row.Flight != nil {
			continue
		}
		t.Run(row.Name(), func(t *testing.T) {
			var lost drops
			s, _ := raw(t, ConnOptions{Strict: true, OnDropped: lost.add, Handler: funcs{handle: func(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
				return done(`{}`)
			}}})
			send(t, s, string(row.In.Bytes(t)), `{"jsonrpc":"2.0","id":"after","method":"ping"}`)
			var got []string
			for len(got) == 0 || !strings.HasSuffix(got[len(got)-1], `"id":"after"}`) {
				got = append(got, next(t, s))
			}
			if len(got) == 1 && row.Want.Kind == "request" {
				got = append([]string{next(t, s)}, got...) // answered in reverse order
			}
			echo := row.Want.IDEcho
			if echo == "" {
				echo = "null"
			}
			dropped := len(got) == 1
			switch {
			case row.ID == "J01" || row.Want.Kind == "notification":
				if !dropped || lost.String() != "" {
					t.Errorf("got %q, dropped %s", got, &lost)
				}
			case row.Want.Kind == "result" || row.Want.Kind == "error" || row.ID == "J59":
				if !dropped || lost.String() == "" {
					t.Errorf("got %q, dropped %s", got, &lost)
				}
			case row.Want.Code == 0:
				if got[0] != `{"jsonrpc":"2.0","result":{},"id":`+echo+`}` {
					t.Errorf("got %.200s", got[0])
				}
			default:
				code := string(jsonrpc.Get([]byte(got[0]), "error", "code"))
				if code != fmt.Sprint(row.Want.Code) || string(jsonrpc.Get([]byte(got[0]), "id")) != echo {
					t.Errorf("got %.200s", got[0])
				}
			}
		})
	}
}

// TestConnCorpusFlight runs two requests at the same time.
func TestConnCorpusFlight(t *testing.T) {
	for _, row := range corpus.Load(t, "../../..") {
		if row.Flight == nil {
			continue
		}
		t.Run(row.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gate{open: make(chan struct{})}
				s, _ := raw(t, ConnOptions{Handler: g, Strict: true})
				send(t, s, row.Flight...)
				synctest.Wait()
				close(g.open)
				got := make(map[string]int64)
				for range row.Flight {
					msg := []byte(next(t, s))
					var code int64
					if e := jsonrpc.Get(msg, "error"); e != nil {
						code = jsonrpc.ParseError(e).Code
					}
					id := string(jsonrpc.Get(msg, "id"))
					if code != 0 {
						id += " again"
					}
					got[id] = code
				}
				if fmt.Sprint(got) != fmt.Sprint(row.Want.Answers) {
					t.Errorf("got %v, want %v", got, row.Want.Answers)
				}
			})
		})
	}
}

func TestConnBatch(t *testing.T) {
	one := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping","params":{}}`, id) }
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, one(i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	refused := func(code int, why string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,"message":%q},"id":null}`, code, why)
	}
	note := `{"jsonrpc":"2.0","method":"note"}`
	synctest.Test(t, func(t *testing.T) {
		allowed := true
		s, _ := raw(t, ConnOptions{Handler: echo, Strict: true, Batch: func() bool { return allowed }})
		for _, c := range []struct{ in, want string }{
			{"[" + one(1) + "]", `[{"jsonrpc":"2.0","result":{},"id":1}]`},
			{"[" + note + "," + one(1) + "]", `[{"jsonrpc":"2.0","result":{},"id":1}]`},
			{"[" + note + `,{"jsonrpc":"2.0","id":99,"result":{}}]` + "\n", ``},
			{"[1]", `[{"jsonrpc":"2.0","error":{"code":-32600,"message":"message must be an object"},"id":null}]`},
			{"[]", refused(-32600, "empty batch")},
			{"[" + one(1), refused(-32700, "unexpected end at byte 53")},
			{many(51), refused(-32600, "batch of more than 50 messages")},
			{"[" + one(1) + `,{"jsonrpc":"2.0","id":2,"method":"initialize"}]`, refused(-32600, "initialize is not allowed in a batch")},
		} {
			send(t, s, c.in)
			if c.want == "" {
				send(t, s, one(7))
				c.want = `{"jsonrpc":"2.0","result":{},"id":7}`
			}
			expect(t, s, c.want)
		}
		send(t, s, many(50))
		got := []byte(next(t, s))
		n := 0
		for range jsonrpc.Elements(got) {
			n++
		}
		if n != 50 || !jsonrpc.Valid(got) {
			t.Errorf("%d answers: %s", n, got)
		}
		allowed = false
		send(t, s, many(2))
		expect(t, s, refused(-32600, "batches are not supported"))
	})
}

// TestConnBatchFlight cancels one request of a batch and repeats an id.
func TestConnBatchFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := raw(t, ConnOptions{Strict: true, Batch: func() bool { return true }, Handler: funcs{handle: func(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			if req.Method == "wait" {
				<-ctx.Done()
			}
			return done(`{}`)
		}}})
		send(t, s, `[{"jsonrpc":"2.0","id":1,"method":"wait"},{"jsonrpc":"2.0","id":1,"method":"x"}]`)
		synctest.Wait()
		send(t, s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		expect(t, s, `[{"jsonrpc":"2.0","error":{"code":-32600,"message":"duplicate id"},"id":1}]`)
	})
}

// A script is a stream that returns prepared messages and errors.
type script struct {
	jsonrpc.Stream
	items chan any
}

func (s *script) Read() ([]byte, func(), error) {
	switch item := (<-s.items).(type) {
	case string:
		return []byte(item), nil, nil
	case error:
		return nil, nil, item
	}
	return nil, nil, io.EOF
}

func TestConnTooLarge(t *testing.T) {
	tooLong := func(head string) error {
		return &jsonrpc.FrameError{Size: 1 << 25, Head: []byte(head), Reason: i18n.Plain("line too long")}
	}
	for _, c := range []struct {
		name, head string
		fails      bool
	}{
		{"id first", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"aaa`, true},
		{"id last", `{"result":{"content":[{"text":"{\"id\":7`, true},
		{"another id", `{"jsonrpc":"2.0","id":2,"result":{"id":1,"content":[`, false},
		{"cut in the id", `{"jsonrpc":"2.0","id":1`, false},
		{"a notification", `{"jsonrpc":"2.0","method":"note","params":{"id":1,`, false},
		{"garbage", `"id":1,"id":1,"id":1`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := Pipe()
				s := &script{Stream: b, items: make(chan any)}
				var lost drops
				conn := NewConn(s, ConnOptions{OnDropped: lost.add})
				result := make(chan error, 1)
				go func() {
					_, err := conn.Call(t.Context(), &jsonrpc.Request{Method: "big"})
					result <- err
				}()
				next(t, a)
				s.items <- tooLong(c.head)
				if !c.fails {
					s.items <- `{"jsonrpc":"2.0","id":1,"result":{}}`
				}
				if err := <-result; errors.Is(err, jsonrpc.ErrTooLarge) != c.fails || err != nil && !c.fails {
					t.Errorf("the call ended with %v", err)
				}
				if lost.String() != "line too long" {
					t.Errorf("dropped %s", &lost)
				}
				close(s.items)
				<-conn.Done()
				a.Close()
				conn.Close()
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		s := &script{Stream: b, items: make(chan any)}
		conn := NewConn(s, ConnOptions{Handler: echo, Strict: true})
		s.items <- tooLong(`{"jsonrpc":"2.0","id":"x","method":"big","params":{"a":"`)
		expect(t, a, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"line too long (33554432 bytes)"},"id":"x"}`)
		s.items <- tooLong(`[[[[`)
		expect(t, a, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"line too long (33554432 bytes)"},"id":null}`)
		s.items <- errors.New("cable cut")
		<-conn.Done()
		if err := conn.Err(); err == nil || err.Error() != "cable cut" {
			t.Errorf("ended with %v", err)
		}
		conn.Close()
	})
}

// TestConnServerLines feeds output of servers to a connection.
func TestConnServerLines(t *testing.T) {
	for _, c := range []struct {
		name, line string
		bad        bool // the call fails with ErrBadAnswer
		ok         bool // the call succeeds
	}{
		{name: "fault/U01", line: "Welcome to my server!"},
		{name: "fault/U02", line: "\x00\xff{\"id\":1"},
		{name: "fault/U03", line: `{"jsonrpc":"2.0","id":5,"result":{}}`},
		{name: "fault/U04", line: `{"jsonrpc":"2.0","id":"1","result":{}}`, ok: true},
		{name: "fault/U05", line: `{"jsonrpc":"2.0","id":1.0,"result":{}}`, ok: true},
		{name: "fault/U05/half", line: `{"jsonrpc":"2.0","id":1.5,"result":{}}`},
		{name: "fault/U04/text", line: `{"jsonrpc":"2.0","id":"1.0","result":{}}`},
		{name: "fault/U06", line: `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, bad: true},
		{name: "fault/U06/neither", line: `{"jsonrpc":"2.0","id":1}`, bad: true},
		{name: "door/16 no value", line: `{"jsonrpc":"2.0","id":1,"result":}`, bad: true},
		{name: "door/16 cut off", line: `{"jsonrpc":"2.0","id":1,"result":{"content":[`, bad: true},
		{name: "door/16 cut off before the result", line: `{"jsonrpc":"2.0","id":1,"res`, bad: true},
		{name: "door/16 data behind it", line: `{"jsonrpc":"2.0","id":1,"result":{}}}`, bad: true},
		{name: "door/16 two in a line", line: `{"jsonrpc":"2.0","id":1,"result":{}} {"jsonrpc":"2.0","method":"x"}`, bad: true},
		{name: "door/16 an error without value", line: `{"jsonrpc":"2.0","id":1,"error":}`, bad: true},
		{name: "door/16 the id lost", line: `{"jsonrpc":"2.0","result":{"a":tru\"},"id":1}`, bad: true},
		{name: "door/16 no id", line: `{"jsonrpc":"2.0","result":{}}`, bad: true},
		{name: "door/16 the id of another", line: `{"jsonrpc":"2.0","id":9,"result":}`},
		{name: "door/16 a question cut off", line: `{"jsonrpc":"2.0","id":1,"method":"roots/list","par`},
		{name: "door/16 a question without params", line: `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":}`},
		{name: "door/16 a log line", line: `{"level":"info","msg":"half`},
		{name: "door/16 an error of no call", line: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`},
		{name: "log line", line: `{"level":"info","id":1,"method":"GET","result":{}}`},
		{name: "nested id", line: `{"jsonrpc":"2.0","x":{"id":1,"result":{}},"id":2}`},
		{name: "null error", line: `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, ok: true},
		{name: "scalar result", line: `{"jsonrpc":"2.0","id":1,"result":"text"}`, ok: true},
		{name: "white space", line: " { \"id\" : 1 ,\t\"result\" : { } , \"jsonrpc\" : \"2.0\" } \r", ok: true},
		{name: "no UTF-8", line: "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xff\"}}", ok: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lost drops
				s, conn := raw(t, ConnOptions{OnDropped: lost.add})
				result := make(chan error, 1)
				go func() {
					_, err := conn.Call(t.Context(), &jsonrpc.Request{Method: "x"})
					result <- err
				}()
				next(t, s)
				send(t, s, c.line)
				synctest.Wait()
				if answered := len(result) == 1; answered != (c.bad || c.ok) {
					t.Fatalf("answered: %v, dropped %s", answered, &lost)
				}
				if (lost.String() == "") != c.ok {
					t.Errorf("dropped %s", &lost)
				}
				if !c.bad && !c.ok {
					send(t, s, `{"jsonrpc":"2.0","id":1,"result":{}}`)
				}
				if err := <-result; errors.Is(err, jsonrpc.ErrBadAnswer) != c.bad {
					t.Errorf("the call ended with %v", err)
				}
			})
		})
	}
}
