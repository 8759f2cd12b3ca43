//go:build linux || darwin

package stdio_test

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/loop"
	"mcp-all-in-one/internal/stdio"
)

// bytes connects a client that writes bytes, and returns where its answers come.
func (b *bench) bytes(t *testing.T) (in *os.File, answers *stdio.Stream) {
	t.Helper()
	r, w := pipe(t)
	back, out := pipe(t)
	if err := back.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	far := stdio.NewStream(r, out, stdio.StreamOptions{})
	front := jsonrpc.NewConn(far, jsonrpc.ConnOptions{Handler: &passer{to: b.back}, Strict: true, CancelMethod: "cancel"})
	answers = stdio.NewStream(back, io.Discard, stdio.StreamOptions{})
	t.Cleanup(func() {
		w.Close()
		front.Close()
		answers.Close()
	})
	return w, answers
}

const echoLine = `{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}` + "\n"

// What is passed on is written although nothing but white space follows it,
// which is no message to wait for.
func TestRelayBeforeBlankLines(t *testing.T) {
	for _, blank := range []string{"\n", "\r\n", " \t\n", "\n\n\n", strings.Repeat("\n", 70<<10)} {
		in, answers := newBench(t).bytes(t)
		if _, err := io.WriteString(in, echoLine+blank); err != nil {
			t.Fatal(err)
		}
		msg, _, err := answers.Read()
		if err != nil || string(jsonrpc.Get(msg, "id")) != "1" {
			t.Errorf("%.10q behind a call: %q, %v", blank, msg, err)
		}
	}
}

// A flood is a client that calls once and then has something to say without a
// pause, until it is answered or has said enough.
type flood struct {
	said     int
	answered chan struct{}
}

const enough = 1_000_000

func (f *flood) Read() ([]byte, func(), error) {
	f.said++
	if f.said == 1 {
		return []byte(echoLine), nil, nil
	}
	select {
	case <-f.answered:
		return nil, nil, io.EOF
	default:
	}
	if f.said > enough {
		return nil, nil, io.EOF
	}
	return []byte(`{"jsonrpc":"2.0","method":"n"}`), nil, nil
}

func (f *flood) OnWait(func() bool) {}

func (f *flood) OnMessage(func(*loop.Turn, []byte, func()) bool) {}

func (f *flood) Queue(_, _, _ []byte) bool { return false }

func (f *flood) Flush() {}

func (f *flood) Write(...[]byte) error {
	close(f.answered)
	return nil
}

func (f *flood) Close() error { return nil }

// A call is passed on although messages that are not keep coming.
func TestRelayInAFlood(t *testing.T) {
	f := &flood{answered: make(chan struct{})}
	front := jsonrpc.NewConn(f, jsonrpc.ConnOptions{Handler: &passer{to: newBench(t).back}, Strict: true})
	<-front.Done()
	if f.said > enough {
		t.Errorf("no answer within %d messages", enough)
	}
}
