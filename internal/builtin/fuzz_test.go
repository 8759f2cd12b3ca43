package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/script"
)

// FuzzRunning sends anything up the pipe of a script: requests, log lines, and
// the outcome at its end. Each request has an answer that is JSON, the limits
// hold, and the result is JSON.
func FuzzRunning(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"script/call","params":{"server":"files","tool":"read_file","arguments":{"path":"a"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"script/log","params":{"text":"a\n"}}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"script/slice","params":{"uri":"result://1","first":1,"last":3}}`),
		[]byte(`{"value":[{"type":"text","text":"a"}],"tail":"b","logBytes":9,"unawaited":2,"lost":"c"}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"script/raw","params":{"server":"my_files","tool":"list_all","arguments":[]}}`+"\n"+
		`{"jsonrpc":"2.0","id":2,"method":"script/ask","params":{"message":"Which?","schema":{}}}`+"\n"+`{"jsonrpc":"2.0","id":3,"method":"script/kept","params":{"uri":"result://1"}}`),
		[]byte(`{"fault":{"name":"Error","message":"m","line":-1,"column":9},"tail":"\ud800"}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"script/inspect","params":{"query":"file"}}`+"\n"+`{"jsonrpc":"2.0","id":1,"method":"script/read","params":{"uri":"x:1"}}`+"\n"+
		`{"jsonrpc":"2.0","id":4,"method":"script/prompt","params":{"server":"a","name":"b","arguments":{}}}`), []byte(`{"value":{"type":"image","data":"a","mimeType":"b"},"fault":null}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"script/log","params":{"text":"`+strings.Repeat("é", 100)+`"}}`), []byte(`{}`))
	f.Add([]byte(`{}`), []byte("{\"value\":{\"type\":\"image\",\"data\":\"\xff\",\"mimeType\":\"b\"}}"))
	f.Fuzz(func(t *testing.T, up, end []byte) {
		lines := bytes.Split(up, []byte("\n"))
		outcome, err := script.ReadOutcome(end)
		if len(lines) > 100 || err != nil {
			return
		}
		env := world(t)
		answer := &jsonrpc.Response{Result: []byte(`{"action":"accept","content":{"a":1},"contents":[]}`)}
		env.Ask = func(context.Context, string, []byte) (*jsonrpc.Response, error) { return answer, nil }
		env.Read = func(context.Context, string) (*jsonrpc.Response, error) { return answer, nil }
		env.Prompt = func(context.Context, string, string, []byte) (*jsonrpc.Response, error) { return answer, nil }
		env.Keep = func([]byte) (string, error) { return "result://1", nil }
		env.Kept = func(_ context.Context, uri string) (kept.Result, error) {
			if uri != "result://1" {
				return kept.Result{}, errors.New("not found")
			}
			return kept.Result{Data: []byte("one\ntwo\nthree")}, nil
		}
		limits := script.Limits{Calls: 5, Log: 100, Output: 200}.Or(script.Defaults)
		job := &script.Job{Code: "return 1", Limits: limits}
		r := &running{env: env, compact: compact{code: true}, limits: limits, slots: make(chan struct{}, limits.Parallel)}

		child, ours := duplex.Pipe()
		conn := duplex.NewConn(ours, duplex.ConnOptions{Handler: r, Strict: true, MaxInFlight: 8})
		defer conn.Close()
		go func() {
			for _, line := range append(lines, []byte(`{"jsonrpc":"2.0","id":"the last","method":"ping","params":{}}`)) {
				_ = child.Write(line) // the reader below fails if this does
			}
		}()
		for answered := false; !answered; {
			msg, release, err := child.Read()
			if err != nil {
				t.Fatalf("no answer to the last message: %v", err)
			}
			if !jsonrpc.Valid(msg) {
				t.Fatalf("answered %s", msg)
			}
			answered = bytes.Contains(msg, []byte(`"id":"the last"`))
			release()
		}
		child.Close()
		<-conn.Done()
		if len(r.calls) > limits.Calls || int64(r.log.Len()) > limits.Log/2 {
			t.Fatalf("%d calls ran, and the log has %d bytes", len(r.calls), r.log.Len())
		}
		if result := r.result(job, outcome).Result; !jsonrpc.Valid(result) || !json.Valid(result) {
			t.Fatalf("the result is %s", result)
		}
	})
}
