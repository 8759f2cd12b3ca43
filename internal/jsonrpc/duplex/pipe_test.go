package duplex

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		must.OK(t, a.Write([]byte("one "), nil, []byte("message")))
		expect(t, b, "one message")
		written := make(chan int, 1)
		go func() {
			n := 0
			for a.Write([]byte("x")) == nil {
				n++
			}
			written <- n
		}()
		synctest.Wait()
		if n := b.(*pipeEnd).in.count; n != laneSize {
			t.Errorf("%d messages fit", n)
		}
		next(t, b)
		synctest.Wait()
		b.Close()
		if n := <-written; n != laneSize+1 {
			t.Errorf("%d messages were written", n)
		}
		if _, _, err := a.Read(); err != io.EOF {
			t.Errorf("reading from a pipe that the other side closed: %v", err)
		}
		if _, _, err := b.Read(); err != io.EOF {
			t.Errorf("reading from a closed pipe: %v", err)
		}
	})
}

func TestPipeKeepsWhatWasWritten(t *testing.T) {
	a, b := Pipe()
	send(t, a, "last words")
	a.Close()
	a.Close()
	expect(t, b, "last words")
	if _, _, err := b.Read(); err != io.EOF {
		t.Errorf("got %v", err)
	}
}

// A mute stream refuses writes.
type mute struct {
	jsonrpc.Stream
	refuse func(size int) error
}

func (m *mute) Write(parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if err := m.refuse(size); err != nil {
		return err
	}
	return m.Stream.Write(parts...)
}

func TestConnCannotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken pipe")
		a, b := Pipe()
		c := NewConn(&mute{b, func(int) error { return broken }}, ConnOptions{Handler: echo, Strict: true})
		if _, err := c.Call(t.Context(), &jsonrpc.Request{Method: "x"}); !errors.Is(err, broken) || c.Pending() != 0 {
			t.Errorf("the call failed with %v, %d pending", err, c.Pending())
		}
		send(t, a, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`)
		<-c.Done()
		if !errors.Is(c.Err(), broken) {
			t.Errorf("ended with %v", c.Err())
		}
		c.Close()
		a.Close()
	})
}

func TestConnAnswerTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		c := NewConn(&mute{b, func(size int) error {
			if size > 150 {
				return &jsonrpc.FrameError{Size: int64(size), Reason: i18n.Plain("line too long")}
			}
			return nil
		}}, ConnOptions{Handler: echo, Strict: true})
		send(t, a, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"text":"`+strings.Repeat("x", 150)+`"}}`)
		expect(t, a, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"sending the answer: line too long (195 bytes)"},"id":1}`)
		a.Close()
		<-c.Done()
		c.Close()
	})
}

// TestConnStalledPeer gives up a call although the peer reads nothing.
func TestConnStalledPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		c := NewConn(b, ConnOptions{CancelMethod: cancelled})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() {
			for i := range laneSize - 1 {
				if c.Notify(ctx, &jsonrpc.Notification{Method: "fill"}) != nil {
					t.Errorf("message %d does not fit", i)
				}
			}
		}()
		synctest.Wait()
		if _, err := c.Call(ctx, &jsonrpc.Request{Method: "x"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		c.Close()
		a.Close()
	})
}
