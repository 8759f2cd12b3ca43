package lines

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/mcptest/random"
)

var _ jsonrpc.Stream = (*Stream)(nil)

// readAll reads all messages; a skipped line is represented by its size.
func readAll(t testing.TB, s *Stream) (got []string) {
	t.Helper()
	for {
		msg, release, err := s.Read()
		var frame *jsonrpc.FrameError
		switch {
		case err == io.EOF:
			return got
		case errors.As(err, &frame):
			got = append(got, fmt.Sprintf("skipped %d", frame.Size))
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, string(msg))
		}
		if release != nil {
			release()
		}
	}
}

func TestFramingCorpus(t *testing.T) {
	inputs, err := filepath.Glob("../../../testdata/corpus/S/*.in")
	if err != nil || len(inputs) < 7 {
		t.Fatalf("found %q (%v)", inputs, err)
	}
	for _, path := range inputs {
		name := strings.TrimSuffix(filepath.Base(path), ".in")
		input := []byte(must.Read(t, path))
		quoted := must.Read(t, strings.TrimSuffix(path, ".in")+".want")
		var want []string
		for line := range strings.Lines(quoted) {
			s, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			want = append(want, s)
		}
		t.Run("corpus/"+name, func(t *testing.T) {
			for _, r := range []io.Reader{
				bytes.NewReader(input),
				iotest.OneByteReader(bytes.NewReader(input)),
				iotest.DataErrReader(bytes.NewReader(input)),
			} {
				if diff := cmp.Diff(want, readAll(t, NewStream(r, io.Discard, StreamOptions{}))); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestManyMessagesInOneWrite(t *testing.T) {
	t.Run("corpus/S11", func(t *testing.T) {
		var input bytes.Buffer
		var want []string
		for i := range 10_000 {
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
			want = append(want, line)
			input.WriteString(line + "\n")
		}
		if diff := cmp.Diff(want, readAll(t, NewStream(&input, io.Discard, StreamOptions{}))); diff != "" {
			t.Error(diff)
		}
	})
}

var filling = strings.Repeat("x", chunkSize)

// A filler is a line of n equal bytes, then a newline and a message.
type filler struct {
	n    int64
	rest io.Reader
}

func (f *filler) Read(p []byte) (int, error) {
	if f.n == 0 {
		return f.rest.Read(p)
	}
	n := int(min(int64(len(p)), f.n))
	for i := 0; i < n; {
		i += copy(p[i:n], filling)
	}
	f.n -= int64(n)
	return n, nil
}

func TestHugeLines(t *testing.T) {
	for _, tt := range []struct {
		id    string
		size  int64
		rest  string
		want  []string
		alloc uint64 // MiB
	}{
		{"corpus/S07", 16<<20 + 1, "\nnext\n", []string{"skipped 16777217", "next"}, 48},
		{"corpus/S08", 1 << 30, "", []string{"skipped 1073741824"}, 48},
		{"fault/T15 256 MiB", 256 << 20, "\r\nnext", []string{"skipped 268435457", "next"}, 48},
	} {
		t.Run(tt.id, func(t *testing.T) {
			s := NewStream(&filler{tt.size, strings.NewReader(tt.rest)}, io.Discard, StreamOptions{})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := readAll(t, s)
			runtime.ReadMemStats(&after)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > tt.alloc {
				t.Errorf("allocated %d MiB", mib)
			}
		})
	}
	t.Run("exactly the limit", func(t *testing.T) {
		for _, end := range []string{"\n", "\r\n", ""} {
			for _, limit := range []int64{10, 5000, chunkSize - 1, chunkSize, chunkSize + 1, 300_000} {
				fits := NewStream(&filler{limit, strings.NewReader(end)}, io.Discard, StreamOptions{MaxLine: limit})
				if msg, _, err := fits.Read(); int64(len(msg)) != limit || err != nil {
					t.Errorf("limit %d, end %q: %d bytes, %v", limit, end, len(msg), err)
				}
				over := NewStream(&filler{limit + 1, strings.NewReader(end)}, io.Discard, StreamOptions{MaxLine: limit})
				var frame *jsonrpc.FrameError
				if _, _, err := over.Read(); !errors.As(err, &frame) {
					t.Errorf("limit %d, end %q: one more byte: %v", limit, end, err)
				} else if want := min(limit+1, headSize); int64(len(frame.Head)) != want {
					t.Errorf("limit %d: the head has %d bytes, want %d", limit, len(frame.Head), want)
				}
			}
		}
	})
	t.Run("blank", func(t *testing.T) {
		input := strings.Repeat(" ", 200_000) + "\nnext\n"
		got := readAll(t, NewStream(strings.NewReader(input), io.Discard, StreamOptions{}))
		if diff := cmp.Diff([]string{"next"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestLongLineMemory checks that a long line costs little more than one buffer: the
// smaller buffers before it are small in comparison.
func TestLongLineMemory(t *testing.T) {
	const size = 15 << 20
	line := append(bytes.Repeat([]byte{'x'}, size), '\n')
	for _, tc := range []struct {
		name       string
		limit      int64
		most, read int
	}{{"within the limit", 16 << 20, 25 << 20, size}, {"past the limit", 1 << 20, 4 << 20, 0}} {
		t.Run(tc.name, func(t *testing.T) {
			s := NewStream(bytes.NewReader(line), io.Discard, StreamOptions{MaxLine: tc.limit})
			defer s.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			msg, _, _ := s.Read()
			runtime.ReadMemStats(&after)
			if used := int(after.TotalAlloc - before.TotalAlloc); len(msg) != tc.read || used > tc.most {
				t.Errorf("%d bytes read, %d allocated", len(msg), used)
			}
		})
	}
}

// TestShorterAfterLongLine checks that the bytes read after a line that is shorter
// than the previous one, possibly more than a chunk, are the next lines.
func TestShorterAfterLongLine(t *testing.T) {
	var want []string
	for i, size := range []int{900_000, 70_000, 300_000, 10, 100_000, 0, 200_000, 5_000, 60_000, 66_000, 1_200_000, 65_536, 65_535, 1, 400_000} {
		want = append(want, fmt.Sprint(i, " ", strings.Repeat("x", size)))
	}
	want = append(append(want, want...), "end")
	input := strings.NewReader(strings.Join(want, "\n"))
	s := NewStream(input, io.Discard, StreamOptions{})
	if diff := cmp.Diff(want, readAll(t, s)); diff != "" {
		t.Error(diff)
	}
	if len(s.in.chunk) > chunkSize {
		t.Errorf("a chunk of %d bytes is left", len(s.in.chunk))
	}
}

// TestLongLineBufferIsUsedAgain checks that the next long line reuses the buffer of
// the last one, until a garbage collection frees it.
func TestLongLineBufferIsUsedAgain(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	line := append(bytes.Repeat([]byte{'x'}, 15<<20), '\n')
	s := NewStream(io.MultiReader(bytes.NewReader(line), bytes.NewReader(line), bytes.NewReader(line)), io.Discard, StreamOptions{})
	defer s.Close()
	read := func() int {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		msg, release, err := s.Read()
		if len(msg) != 15<<20 || err != nil {
			t.Fatalf("%d bytes, %v", len(msg), err)
		}
		release()
		runtime.ReadMemStats(&after)
		return int(after.TotalAlloc - before.TotalAlloc)
	}
	read()
	if n := read(); n > 1<<20 {
		t.Errorf("%d bytes for the second line", n)
	}
	runtime.GC()
	if n := read(); n < 15<<20 {
		t.Errorf("%d bytes after a collection: it did not get the buffer", n)
	}
}

func TestSplitWrites(t *testing.T) {
	t.Run("fault/T14", func(t *testing.T) {
		numbers := random.New(t)
		var want []string
		var input []byte
		for i := range 20_000 {
			line := fmt.Sprintf("%d %s", i, strings.Repeat("é🙂", numbers.IntN(20)))
			if i%1000 == 0 {
				line = "\ufeff" + strings.Repeat(line, 20_000)
			}
			want = append(want, line)
			input = append(input, line...)
			input = append(input, []string{"\n", "\r\n", "\n \n"}[i%3]...)
		}
		r, w := pipe(t)
		go func() {
			defer w.Close()
			for len(input) > 0 {
				n := min(len(input), 1+numbers.IntN(200))
				if numbers.IntN(10) == 0 {
					n = min(len(input), 100_000)
				}
				if _, err := w.Write(input[:n]); err != nil {
					return
				}
				input = input[n:]
			}
		}()
		s := NewStream(r, io.Discard, StreamOptions{})
		defer s.Close()
		if diff := cmp.Diff(want, readAll(t, s)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestGarbageBetweenMessages(t *testing.T) {
	t.Run("fault/T13", func(t *testing.T) {
		messages := 2_000
		if os.Getenv("TORTURE") != "" {
			messages = 10_000
		}
		var key [32]byte
		binary.LittleEndian.PutUint64(key[:], random.Seed(t))
		r, w := pipe(t)
		go func() {
			defer w.Close()
			noise := rand.NewChaCha8(key)
			garbage := make([]byte, 64<<10)
			for i := range messages {
				noise.Read(garbage[:64])
				line := garbage[:noise.Uint64()%uint64(len(garbage))]
				fmt.Fprintf(w, "%s\nmessage %d\n{\"half\":\n", bytes.ReplaceAll(line, []byte("\n"), []byte{0}), i)
			}
		}()
		s := NewStream(r, io.Discard, StreamOptions{})
		defer s.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := 0
		for {
			msg, release, err := s.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(msg) == fmt.Sprintf("message %d", got) {
				got++
			}
			if release != nil {
				release()
			}
		}
		runtime.ReadMemStats(&after)
		if got != messages {
			t.Errorf("%d messages of %d were found", got, messages)
		}
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 20<<20 {
			t.Errorf("the heap has grown by %d bytes", grown)
		}
	})
}

func TestPartialLineIsAwaited(t *testing.T) {
	t.Run("fault/F8", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			s := NewStream(r, io.Discard, StreamOptions{})
			defer s.Close()
			read := make(chan string, 1)
			go func() {
				msg, _, _ := s.Read()
				read <- string(msg)
			}()
			io.WriteString(w, "half")
			synctest.Wait()
			<-time.After(30 * time.Second)
			select {
			case got := <-read:
				t.Fatalf("half a line was read: %q", got)
			default:
			}
			io.WriteString(w, " and whole\n")
			if got := <-read; got != "half and whole" {
				t.Errorf("got %q", got)
			}
		})
	})
}

func TestBuffersAreTheCallers(t *testing.T) {
	s := NewStream(strings.NewReader("first\nsecond\n"), io.Discard, StreamOptions{})
	first, _, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Read(); err != nil {
		t.Fatal(err)
	}
	if string(first) != "first" {
		t.Errorf("the first message became %q", first)
	}
}

func TestDelimiter(t *testing.T) {
	var out bytes.Buffer
	s := NewStream(strings.NewReader("a\nb\x00c\r\x00"), &out, StreamOptions{Delimiter: 0x1e})
	if diff := cmp.Diff([]string{"a\nb\x00c\r\x00"}, readAll(t, s)); diff != "" {
		t.Error(diff)
	}
	if err := s.Write([]byte("[1]")); err != nil || out.String() != "[1]\x1e" {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
	if err := s.Write([]byte("\x1e")); !errors.Is(err, errLineBreak) {
		t.Errorf("writing a delimiter: %v", err)
	}
}

func TestBrokenReader(t *testing.T) {
	broken := errors.New("broken")
	for _, size := range []int{4, 200_000} {
		r := io.MultiReader(strings.NewReader("whole\n"+strings.Repeat("x", size)), iotest.ErrReader(broken))
		s := NewStream(r, io.Discard, StreamOptions{})
		if msg, _, err := s.Read(); string(msg) != "whole" || err != nil {
			t.Errorf("got %q, %v", msg, err)
		}
		for range 2 {
			if msg, _, err := s.Read(); err != broken {
				t.Errorf("got %q, %v", msg, err)
			}
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n \nc"), uint16(0), uint32(5), uint16(1))
	f.Add([]byte("long "), uint16(40_000), uint32(60_000), uint16(2000))
	f.Add([]byte("x\r"), uint16(65_535), uint32(131_072), uint16(0))
	f.Fuzz(func(t *testing.T, line []byte, repeat uint16, limit uint32, step uint16) {
		data := append(bytes.Repeat(line, int(repeat)%(1+200_000/(1+len(line)))), line...)
		max := int64(limit) + 1
		var want []string
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			line = bytes.TrimSuffix(line, []byte("\r"))
			switch {
			case len(bytes.Trim(line, " \t\r")) == 0 && int64(len(line)) <= max:
			case int64(len(line)) > max:
				want = append(want, "skipped")
			default:
				want = append(want, string(line))
			}
		}
		r := io.Reader(bytes.NewReader(data))
		if step > 0 {
			r = &stepReader{data, int(step) + len(data)/1000}
		}
		got := readAll(t, NewStream(r, io.Discard, StreamOptions{MaxLine: max}))
		for i, line := range got {
			if strings.HasPrefix(line, "skipped ") && i < len(want) && want[i] == "skipped" {
				got[i] = "skipped"
			}
		}
		if !slices.Equal(want, got) {
			t.Fatalf("got %.200q, want %.200q", got, want)
		}
	})
}

// A stepReader returns a few bytes at a time.
type stepReader struct {
	data []byte
	step int
}

func (r *stepReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.step)], r.data)
	r.data = r.data[n:]
	return n, nil
}
