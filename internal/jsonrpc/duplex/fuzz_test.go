package duplex

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
)

func FuzzConn(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}` + "\n" + `[{"jsonrpc":"2.0","id":1,"method":"a"}]` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":17}}` + "\n[]\nnull"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := Pipe()
		c := NewConn(b, ConnOptions{Handler: echo, Strict: true, Batch: func() bool { return true }, CancelMethod: cancelled})
		lines := bytes.Split(data, []byte("\n"))
		if len(lines) > 500 {
			return
		}
		for _, line := range lines {
			must.OK(t, a.Write(line))
		}
		must.OK(t, a.Write([]byte(`{"jsonrpc":"2.0","id":"the last","method":"ping","params":{}}`)))
		for answered := false; !answered; {
			msg, release, err := a.Read()
			if err != nil {
				t.Fatalf("no answer to the last message: %v", err)
			}
			if !jsonrpc.Valid(msg) {
				t.Fatalf("answered %s", msg)
			}
			answered = bytes.Contains(msg, []byte(`"id":"the last"}`))
			release()
		}
		a.Close()
		<-c.Done()
		if err := c.Err(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Fatal(err)
		}
		c.Close()
	})
}
