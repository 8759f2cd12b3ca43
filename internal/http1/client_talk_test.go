//go:build linux || darwin

package http1

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

func TestTalk(t *testing.T) {
	request := func() []byte { return append(make([]byte, 0, 4<<10), "request"...) }
	arrived := func(t *testing.T, tk *talker) {
		must.Await(t, "it has arrived", func() (here bool) {
			_ = tk.raw.Control(func(fd uintptr) { here = !tk.quiet(int(fd)) })
			return here
		})
	}
	t.Run("answered", func(t *testing.T) {
		ours, theirs := must.Pair(t)
		go func() {
			in := make([]byte, 100)
			for {
				n, err := theirs.Read(in)
				if err != nil {
					return
				}
				_, _ = theirs.Write(bytes.ToUpper(in[:n]))
			}
		}()
		tk := newTalker(ours)
		for range 1000 {
			msg := request()
			if sent, got, err := tk.talk(msg, true, nil); sent != 7 || string(msg[:got]) != "REQUEST" || err != nil {
				t.Fatalf("%d sent, %q read, %v", sent, msg[:max(got, 0)], err)
			}
		}
	})
	t.Run("closed before", func(t *testing.T) {
		ours, theirs := must.Pair(t)
		tk := newTalker(ours)
		theirs.Close()
		arrived(t, tk)
		if sent, _, err := tk.talk(request(), true, nil); sent != 0 || err != errStale {
			t.Errorf("%d sent, %v", sent, err)
		}
	})
	t.Run("something before", func(t *testing.T) {
		ours, theirs := must.Pair(t)
		tk := newTalker(ours)
		_, _ = io.WriteString(theirs, "unasked")
		arrived(t, tk)
		if sent, _, err := tk.talk(request(), true, nil); sent != 0 || err != errStale {
			t.Errorf("%d sent, %v", sent, err)
		}
	})
	t.Run("something before, on a new one", func(t *testing.T) {
		ours, theirs := must.Pair(t)
		tk := newTalker(ours)
		_, _ = io.WriteString(theirs, "unasked")
		arrived(t, tk)
		msg := request()
		if sent, got, err := tk.talk(msg, false, nil); sent != 7 || string(msg[:got]) != "unasked" || err != nil {
			t.Errorf("%d sent, %q read, %v", sent, msg[:got], err)
		}
	})
	t.Run("closed after", func(t *testing.T) {
		ours, theirs := must.Pair(t)
		go func() {
			_, _ = theirs.Read(make([]byte, 100))
			theirs.Close()
		}()
		if sent, got, err := newTalker(ours).talk(request(), true, nil); sent != 7 || got != 0 || err != io.EOF {
			t.Errorf("%d sent, %d read, %v", sent, got, err)
		}
	})
	t.Run("cannot be written", func(t *testing.T) {
		ours, _ := must.Pair(t)
		tk := newTalker(ours)
		_ = ours.CloseWrite()
		if sent, _, err := tk.talk(request(), true, nil); sent != 0 || !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%d sent, %v", sent, err)
		}
	})
	t.Run("not read", func(t *testing.T) {
		ours, _ := must.Pair(t)
		msg := make([]byte, 64<<20)
		if sent, got, err := newTalker(ours).talk(msg, true, nil); sent == 0 || sent == len(msg) || got != 0 || err != nil {
			t.Errorf("%d sent, %d read, %v", sent, got, err)
		}
	})
	t.Run("late before", func(t *testing.T) {
		ours, _ := must.Pair(t)
		_ = ours.SetDeadline(time.Unix(1, 0))
		if sent, _, err := newTalker(ours).talk(request(), true, nil); sent != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d sent, %v", sent, err)
		}
	})
	t.Run("late after", func(t *testing.T) {
		ours, theirs := must.Pair(t)
		go func() {
			_, _ = theirs.Read(make([]byte, 100))
			_ = ours.SetDeadline(time.Unix(1, 0))
		}()
		if sent, _, err := newTalker(ours).talk(request(), true, nil); sent != 7 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d sent, %v", sent, err)
		}
	})
}
