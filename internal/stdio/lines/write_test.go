package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

// osPipe returns a stream that writes into a real pipe, and the other end of the
// pipe.
func osPipe(t testing.TB) (*Stream, *os.File) {
	t.Helper()
	r, w := pipe(t)
	t.Cleanup(func() { r.Close(); w.Close() })
	return NewStream(strings.NewReader(""), w, StreamOptions{}), r
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

func TestConcurrentWrites(t *testing.T) {
	const writers, each = 64, 200
	s, r := osPipe(t)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			for j := range each {
				size := 10
				if j%50 == 0 {
					size = 100_000
				}
				body := bytes.Repeat([]byte{byte('a' + i%26)}, size)
				if err := s.Write(fmt.Appendf(nil, "%d %d: ", i, j), body, []byte("!")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		group.Wait()
		s.CloseWrite()
	}()
	next := make(map[int]int)
	lines := bufio.NewReader(r)
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err == io.EOF && n == writers*each {
			return
		}
		if err != nil {
			t.Fatalf("after %d lines: %v", n, err)
		}
		var i, j int
		numbers, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if _, err := fmt.Sscan(numbers, &i, &j); err != nil {
			t.Fatalf("%.50q: %v", line, err)
		}
		if next[i] != j {
			t.Fatalf("writer %d: message %d came instead of %d", i, j, next[i])
		}
		next[i]++
		if strings.Trim(body, string(byte('a'+i%26))) != "!" || len(body) != 11 && len(body) != 100_001 {
			t.Fatalf("message of writer %d is mixed: %.50q", i, body)
		}
	}
}

// A gate is a writer that waits for permission before each write.
type gate struct {
	begun  chan struct{}
	leave  chan struct{}
	closed chan struct{}
	writes []string
}

func newGate() *gate {
	return &gate{begun: make(chan struct{}), leave: make(chan struct{}), closed: make(chan struct{})}
}

func (g *gate) Write(p []byte) (int, error) {
	select {
	case g.begun <- struct{}{}:
	case <-g.closed:
		return 0, os.ErrClosed
	}
	select {
	case <-g.leave:
	case <-g.closed:
		return 0, os.ErrClosed
	}
	g.writes = append(g.writes, string(p))
	return len(p), nil
}

func (g *gate) Close() error {
	close(g.closed)
	return nil
}

func TestWritesAreCombined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := NewStream(strings.NewReader(""), g, StreamOptions{})
		go s.Write([]byte("first"))
		<-g.begun
		want := ""
		for i := range 100 {
			must.OK(t, s.Write(fmt.Appendf(nil, "%d", i)))
			want += fmt.Sprintf("%d\n", i)
		}
		g.leave <- struct{}{}
		<-g.begun
		g.leave <- struct{}{}
		must.OK(t, s.Close())
		if len(g.writes) != 2 || g.writes[0] != "first\n" || g.writes[1] != want {
			t.Errorf("writes: %q", g.writes)
		}
	})
}

func TestFullPipe(t *testing.T) {
	message := bytes.Repeat([]byte("x"), 16<<10-1)
	t.Run("corpus/S12", func(t *testing.T) {
		s, _ := osPipe(t)
		// The pipe is not read: messages that do not fit into it are queued.
		for range maxPending / (len(message) + 1) {
			must.OK(t, s.Write(message))
		}
		begun := time.Now()
		s.Close()
		if took := time.Since(begun); took > flushWait+5*time.Second {
			t.Errorf("closing took %v", took)
		}
		if err := s.Write(message); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a write after close: %v", err)
		}
	})
	t.Run("corpus/S12 queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate()
			s := NewStream(strings.NewReader(""), g, StreamOptions{})
			go s.Write([]byte("first"))
			<-g.begun
			for range maxPending/(len(message)+1) - 1 {
				must.OK(t, s.Write(message))
			}
			blocked := make(chan error, 1)
			go func() { blocked <- s.Write(message, message) }()
			synctest.Wait()
			select {
			case err := <-blocked:
				t.Fatalf("a write past the limit returned %v", err)
			default:
			}
			begun := time.Now()
			s.Close()
			if took := time.Since(begun); took != flushWait {
				t.Errorf("closing took %v", took)
			}
			if err := <-blocked; !errors.Is(err, os.ErrClosed) {
				t.Errorf("the blocked write returned %v", err)
			}
		})
	})
}

func TestLateReaderGetsEverything(t *testing.T) {
	s, r := osPipe(t)
	const n = 5000
	for i := range n {
		must.OK(t, s.Write(fmt.Appendf(nil, "%0200d", i)))
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	lines := bufio.NewScanner(r)
	got := 0
	for lines.Scan() {
		if want := fmt.Sprintf("%0200d", got); lines.Text() != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
		got++
	}
	if got != n {
		t.Errorf("%d of %d messages arrived", got, n)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestWriteErrorsLast(t *testing.T) {
	t.Run("corpus/S14", func(t *testing.T) {
		s, r := osPipe(t)
		r.Close()
		for range 2 {
			if err := s.Write([]byte("1")); err == nil || !strings.Contains(err.Error(), "broken pipe") {
				t.Errorf("err = %v", err)
			}
		}
	})
}

func TestRawLineBreaks(t *testing.T) {
	t.Run("corpus/S05", func(t *testing.T) {
		for _, tt := range []struct {
			parts []string
			want  string
		}{
			{[]string{"{\n \"a\": ", "[1,\r\n 2]\r}"}, `{"a":[1,2]}`},
			{[]string{"{\"a\": \"\\n\"}"}, `{"a": "\n"}`},
			// Without compacting, a text-mode reader would see a separate message
			// here.
			{[]string{"{\"a\":\r{\"method\":\"x\"}\r}"}, `{"a":{"method":"x"}}`},
		} {
			var out bytes.Buffer
			var parts [][]byte
			for _, p := range tt.parts {
				parts = append(parts, []byte(p))
			}
			err := NewStream(strings.NewReader(""), &out, StreamOptions{}).Write(parts...)
			if err != nil || out.String() != tt.want+"\n" {
				t.Errorf("%q: wrote %q, %v", tt.parts, out.String(), err)
			}
		}
	})
}

func TestCloseUnblocksRead(t *testing.T) {
	r, w := pipe(t)
	defer w.Close()
	s := NewStream(r, io.Discard, StreamOptions{})
	done := make(chan error, 1)
	go func() {
		_, _, err := s.Read()
		done <- err
	}()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-done; !errors.Is(err, os.ErrClosed) {
		t.Errorf("read returned %v", err)
	}
	if _, _, err := s.Read(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read after close returned %v", err)
	}
}

// BenchmarkWrite measures 64 writers of small messages over one pipe.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, r := osPipe(b)
			go io.Copy(io.Discard, r)
			message := bytes.Repeat([]byte("x"), size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := s.Write(message); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkPipe measures one writer and one reader with one message in flight at a
// time.
func BenchmarkPipe(b *testing.B) {
	for _, size := range []int{100, 10_000, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r, w := pipe(b)
			s := NewStream(r, w, StreamOptions{})
			defer s.Close()
			message := bytes.Repeat([]byte("x"), size)
			go func() {
				for s.Write(message) == nil {
				}
			}()
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				msg, release, err := s.Read()
				if err != nil || len(msg) != size {
					b.Fatal(len(msg), err)
				}
				if release != nil {
					release()
				}
			}
		})
	}
}
