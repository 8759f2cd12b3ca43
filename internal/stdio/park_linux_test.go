package stdio

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/loop"
)

// looped is a stream whose pipe a loop waits for.
func looped(t *testing.T, opt StreamOptions) (*Stream, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, ok := loop.AdoptPipe(r).(*loop.File)
	if !ok {
		t.Fatal("no loop takes a pipe")
	}
	s := NewStream(in, io.Discard, opt)
	t.Cleanup(func() {
		s.Close()
		w.Close()
	})
	return s, w
}

// A chronicle is all that came, in its order, and who had it.
type chronicle struct {
	lines []string
	heard int
}

// TestParkedInOrder sees that nothing is lost, doubled or out of order, whoever reads:
// lines of all sizes, in pieces of all sizes, of which the loop may tell some.
func TestParkedInOrder(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			s, w := looped(t, StreamOptions{MaxLine: 300 << 10})
			want := randomLines(rng, 300)
			go writeInPieces(rng, w, strings.Join(want, "\n")+"\n")
			got := chronicled(t, s)
			compareLines(t, got.lines, want)
			if got.heard == 0 || got.heard == len(got.lines) {
				t.Errorf("%d of %d lines were told by the loop", got.heard, len(got.lines))
			}
		})
	}
}

// randomLines have an x where the loop is to leave them to the reader.
func randomLines(rng *rand.Rand, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		size := rng.IntN(1 << rng.IntN(19))
		kind := "l"
		if rng.IntN(10) == 0 {
			kind = "x"
		}
		if rng.IntN(20) > 0 {
			lines[i] = fmt.Sprint(kind, i, strings.Repeat("-", size))
		}
	}
	return lines
}

func writeInPieces(rng *rand.Rand, w io.WriteCloser, text string) {
	defer w.Close()
	for len(text) > 0 {
		n := min(len(text), 1+rng.IntN(1<<rng.IntN(19)))
		if _, err := io.WriteString(w, text[:n]); err != nil {
			return
		}
		text = text[n:]
		if rng.IntN(4) == 0 {
			<-time.After(time.Duration(rng.IntN(200)) * time.Microsecond) // the reader waits
		}
	}
}

func chronicled(t *testing.T, s *Stream) (c chronicle) {
	t.Helper()
	s.OnMessage(func(_ *loop.Turn, msg []byte, release func()) bool {
		if msg[0] == 'x' {
			return false
		}
		c.lines = append(c.lines, string(msg))
		c.heard++
		release()
		return true
	})
	for {
		msg, release, err := s.Read()
		switch frame := (*jsonrpc.FrameError)(nil); {
		case errors.As(err, &frame):
			c.lines = append(c.lines, fmt.Sprint("too long: ", frame.Size))
			continue
		case err == io.EOF:
			return c
		case err != nil:
			t.Fatal(err)
		}
		c.lines = append(c.lines, string(msg))
		if release != nil {
			release()
		}
	}
}

func compareLines(t *testing.T, got, want []string) {
	t.Helper()
	at := 0
	for _, line := range want {
		if line == "" {
			continue
		}
		if len(line) > 300<<10 {
			line = fmt.Sprint("too long: ", len(line))
		}
		if at == len(got) || got[at] != line {
			t.Fatalf("line %d is %.30q, want %.30q", at, got[min(at, len(got)-1)], line)
		}
		at++
	}
	if at < len(got) {
		t.Fatalf("%.30q came behind the end", got[at])
	}
}

// TestParkedPartial sees that a line that comes in pieces is as old as its first one.
func TestParkedPartial(t *testing.T) {
	s, w := looped(t, StreamOptions{})
	s.OnMessage(func(_ *loop.Turn, _ []byte, release func()) bool {
		release()
		return true
	})
	go func() {
		for err := error(nil); err == nil; {
			_, _, err = s.Read()
		}
	}()
	var first time.Time
	for i, piece := range []string{"one\ntw", "o, and ", "more"} {
		io.WriteString(w, piece)
		want := int64(len("two, and more"[:[]int{2, 9, 13}[i]]))
		deadline := time.Now().Add(10 * time.Second)
		size, since := s.Partial()
		for size != want {
			if time.Now().After(deadline) {
				t.Fatalf("%d bytes are there, want %d", size, want)
			}
			<-time.After(time.Millisecond)
			size, since = s.Partial()
		}
		if i == 0 {
			first = since
		}
		if !since.Equal(first) {
			t.Errorf("the line is %v younger after more of it has come", since.Sub(first))
		}
	}
}

// TestParkedClose sees that closing ends a reader, wherever it waits.
func TestParkedClose(t *testing.T) {
	for range 100 {
		s, w := looped(t, StreamOptions{})
		s.OnMessage(func(_ *loop.Turn, _ []byte, release func()) bool {
			release()
			return true
		})
		got := make(chan error, 1)
		go func() {
			var err error
			for err == nil { // what came before is not lost
				_, _, err = s.Read()
			}
			got <- err
		}()
		go io.WriteString(w, "a\nb\nc\n")
		s.Close()
		select {
		case err := <-got:
			if !errors.Is(err, os.ErrClosed) {
				t.Fatalf("%v", err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("it still reads")
		}
	}
}

// TestParkedEndIsTold has the end of a pipe told to a reader that has looked for it
// and is about to park: nothing else will ever be told.
func TestParkedEndIsTold(t *testing.T) {
	s, w := looped(t, StreamOptions{})
	s.OnMessage(func(_ *loop.Turn, _ []byte, release func()) bool {
		release()
		return true
	})
	p := s.in.parking
	p.file.Unlisten() // the loop has noted what came, and tells it when the reader waits
	s.OnWait(func() bool {
		p.Ready(p.file.Loop(), true)
		return false
	})
	was := p.file.Seen()
	io.WriteString(w, "last\n")
	w.Close()
	for deadline := time.Now().Add(10 * time.Second); p.file.Seen() == was; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing has come")
		}
	}
	if msg, _, err := s.Read(); string(msg) != "last" || err != nil {
		t.Fatalf("%q, %v", msg, err)
	}
	got := make(chan error, 1)
	go func() {
		_, _, err := s.Read()
		got <- err
	}()
	select {
	case err := <-got:
		if err != io.EOF {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it still reads")
	}
}

// parks waits until a loop reads.
func (p *parking) parks(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(time.Millisecond) {
		p.mu.Lock()
		parked := p.parked
		p.mu.Unlock()
		if parked {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no loop reads")
		}
	}
}

// TestParkedAgain sees that a pipe whose end was told, and which somebody has opened
// again since, is waited for.
func TestParkedAgain(t *testing.T) {
	s, w := looped(t, StreamOptions{})
	s.OnMessage(func(*loop.Turn, []byte, func()) bool { return false })
	s.in.parking.last.Store(true)
	got := make(chan string, 1)
	go func() {
		msg, _, _ := s.Read()
		got <- string(msg)
	}()
	s.in.parking.parks(t)
	io.WriteString(w, "again\n")
	if msg := <-got; msg != "again" {
		t.Errorf("%q", msg)
	}
}

// TestParkedSlowHearer sees that an answer to no call does not keep a loop from others,
// even if whoever hears that it was thrown away has to wait.
func TestParkedSlowHearer(t *testing.T) {
	for range loop.All() { // one each
		hears, goOn := make(chan struct{}), make(chan struct{})
		s, w := looped(t, StreamOptions{})
		c := jsonrpc.NewConn(s, jsonrpc.ConnOptions{OnDropped: func(string, []byte) {
			hears <- struct{}{}
			<-goOn
		}})
		defer func() {
			close(goOn)
			c.Close()
		}()
		answer := `{"jsonrpc":"2.0","id":7,"result":{}}` + "\n"
		io.WriteString(w, answer)
		<-hears
		goOn <- struct{}{}
		s.in.parking.parks(t)
		io.WriteString(w, answer)
		<-hears
	}
	s, w := looped(t, StreamOptions{})
	told := make(chan struct{}, 1)
	s.OnMessage(func(_ *loop.Turn, _ []byte, release func()) bool {
		release()
		told <- struct{}{}
		return true
	})
	go s.Read()
	s.in.parking.parks(t)
	io.WriteString(w, "one\n")
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		t.Fatal("the loop still waits")
	}
}
