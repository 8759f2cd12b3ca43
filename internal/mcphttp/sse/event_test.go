package sse

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/jsonrpc"
)

type readEvent struct {
	Name, ID, Data string
	Retry          time.Duration
}

func readEvents(er *EventReader) (events []readEvent, err error) {
	for {
		ev, err := er.Next()
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, readEvent{ev.Name, ev.ID, string(ev.Data), ev.Retry})
	}
}

func TestEventReader(t *testing.T) {
	tests := []struct {
		name, in string
		want     []readEvent
		err      error
	}{
		{name: "one", in: "data: a\n\n", want: []readEvent{{Data: "a"}}},
		{name: "no space", in: "data:a\n\n", want: []readEvent{{Data: "a"}}},
		{name: "two spaces", in: "data:  a\n\n", want: []readEvent{{Data: " a"}}},
		{name: "all fields", in: "event: endpoint\nid: 7\nretry: 1500\ndata: /x\n\n",
			want: []readEvent{{Name: "endpoint", ID: "7", Data: "/x", Retry: 1500 * time.Millisecond}}},
		{name: "lines joined", in: "data: a\ndata\ndata: b\n\n", want: []readEvent{{Data: "a\n\nb"}}},
		{name: "CR", in: "data: a\rdata: b\r\rdata: c\r\r", want: []readEvent{{Data: "a\nb"}, {Data: "c"}}},
		{name: "CRLF", in: "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", want: []readEvent{{Data: "a\nb"}, {Data: "c"}}},
		{name: "comments", in: ": hi\n\n:\n\ndata: a\n: between\n\n", want: []readEvent{{Data: "a"}}},
		{name: "byte order mark", in: "\ufeffdata: a\n\n", want: []readEvent{{Data: "a"}}},
		{name: "later byte order mark", in: "data: a\n\n\ufeffdata: b\n\ndata: c\n\n", want: []readEvent{{Data: "a"}, {Data: "c"}}},
		{name: "priming", in: "id: p\ndata:\n\n", want: []readEvent{{ID: "p"}}},
		{name: "id alone", in: "id: p\n\ndata: a\n\n", want: []readEvent{{ID: "p"}, {Data: "a"}}},
		{name: "NUL in id", in: "id: p\x00q\ndata: a\n\n", want: []readEvent{{Data: "a"}}},
		{name: "retry not a number", in: "retry: 1x\ndata: a\n\n", want: []readEvent{{Data: "a"}}},
		{name: "unknown fields", in: "foo: bar\ndata: a\n\nfoo\n\n", want: []readEvent{{Data: "a"}}},
		{name: "corpus/U24/no blank line", in: "data: a\n", err: io.ErrUnexpectedEOF},
		{name: "half a line", in: "data: a\n\ndata", want: []readEvent{{Data: "a"}}, err: io.ErrUnexpectedEOF},
		{name: "empty", in: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, wrap := range []func(io.Reader) io.Reader{
				func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader, iotest.HalfReader,
			} {
				got, err := readEvents(NewEventReader(wrap(strings.NewReader(tt.in)), 1<<10))
				if diff := cmp.Diff(tt.want, got); diff != "" || err != tt.err {
					t.Errorf("error %v, want %v; events (-want +got):\n%s", err, tt.err, diff)
				}
			}
		})
	}
}

func TestEventReaderLimits(t *testing.T) {
	big := strings.Repeat("x", 100<<10)
	t.Run("corpus/U24/data over the limit", func(t *testing.T) {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			in := "id: 1" + end + "data: {\"id\":5," + big + end + end + "data: next" + end + end
			er := NewEventReader(strings.NewReader(in), 1<<10)
			_, err := er.Next()
			var frame *jsonrpc.FrameError
			if !errors.As(err, &frame) || !bytes.HasPrefix(frame.Head, []byte(`{"id":5`)) {
				t.Fatalf("got %v, want a FrameError with the head of the data", err)
			}
			if cap(er.Buf) > 32<<10 {
				t.Errorf("buffer grew to %d bytes", cap(er.Buf))
			}
			if ev, err := er.Next(); err != nil || string(ev.Data) != "next" {
				t.Errorf("after the large one: %q, %v", ev.Data, err)
			}
		}
	})
	t.Run("slightly over", func(t *testing.T) {
		er := NewEventReader(strings.NewReader("data: "+big[:1025]+"\n\ndata: next\n\n"), 1<<10)
		_, err := er.Next()
		var frame *jsonrpc.FrameError
		if !errors.As(err, &frame) || frame.Size != 1025 {
			t.Fatalf("got %v, want a FrameError of 1025 bytes", err)
		}
		if ev, err := er.Next(); err != nil || string(ev.Data) != "next" {
			t.Errorf("after the large one: %q, %v", ev.Data, err)
		}
	})
	t.Run("corpus/U24/event id of 1 MiB", func(t *testing.T) {
		_, err := NewEventReader(strings.NewReader("id: "+strings.Repeat("i", 1<<20)+"\ndata: a\n\n"), 4<<20).Next()
		if _, ok := errors.AsType[*LimitError](err); !ok {
			t.Errorf("got %v, want a LimitError", err)
		}
	})
	t.Run("keep-alives do not add up", func(t *testing.T) {
		in := strings.Repeat(": keep-alive\n\n", 10_000) + "data: a\n\n"
		er := NewEventReader(strings.NewReader(in), 1<<10)
		if ev, err := er.Next(); err != nil || string(ev.Data) != "a" {
			t.Errorf("got %q, %v", ev.Data, err)
		}
	})
}

func TestEventReaderKeep(t *testing.T) {
	er := NewEventReader(strings.NewReader("data: first\n\ndata: second\n\ndata: third\n\n"), 1<<10)
	ev, _ := er.Next()
	first := ev.Data
	er.Keep()
	ev, _ = er.Next()
	second := string(ev.Data)
	ev, err := er.Next()
	if string(first) != "first" || second != "second" || string(ev.Data) != "third" || err != nil {
		t.Errorf("got %q %q %q, %v", first, second, ev.Data, err)
	}
}

// FuzzEventReader checks that the result does not depend on how the bytes arrive,
// that limits hold, and that every input terminates.
func FuzzEventReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "id: 1\r\nretry: 5\r\ndata: x\r\ndata: y\r\n\r\n", "\ufeffdata: a\r\r", ": c\n\n", "data",
		"data: " + strings.Repeat("z", 20<<10) + "\n\ndata: b\n\n",
	} {
		f.Add([]byte(seed))
	}
	const limit = 64
	read := func(r io.Reader) (all []readEvent, reasons []string) {
		er := NewEventReader(r, limit)
		for {
			ev, err := er.Next()
			var frame *jsonrpc.FrameError
			switch {
			case errors.As(err, &frame):
				reasons = append(reasons, frame.Reason.String())
			case err != nil:
				return all, append(reasons, err.Error())
			default:
				all = append(all, readEvent{ev.Name, ev.ID, string(ev.Data), ev.Retry})
			}
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		events, reasons := read(bytes.NewReader(in))
		for _, ev := range events {
			if len(ev.Data) > limit {
				t.Fatalf("data of %d bytes passed a limit of %d", len(ev.Data), limit)
			}
		}
		again, reasonsAgain := read(iotest.OneByteReader(bytes.NewReader(in)))
		if diff := cmp.Diff(events, again); diff != "" {
			t.Fatalf("byte by byte differs:\n%s", diff)
		}
		if diff := cmp.Diff(reasons, reasonsAgain); diff != "" {
			t.Fatalf("byte by byte differs:\n%s", diff)
		}
	})
}
