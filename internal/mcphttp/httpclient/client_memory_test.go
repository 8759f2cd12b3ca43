package httpclient

import (
	"bytes"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcphttp/sse"
)

// TestLargeAnswerMemory checks that a large response costs little more than one
// buffer, in either form.
func TestLargeAnswerMemory(t *testing.T) {
	const size = 15 << 20
	text := strings.Repeat("x", size)
	for name, tc := range map[string]struct {
		most int
		read func() (int, error)
	}{
		"of known length": {size + 1<<20, func() (int, error) {
			buf, err := readWhole(strings.NewReader(text), size, 16<<20)
			return len(buf.b), err
		}},
		"of unknown length": {25 << 20, func() (int, error) {
			buf, err := readWhole(io.MultiReader(strings.NewReader(text)), -1, 16<<20)
			return len(buf.b), err
		}},
		"in an event": {25 << 20, func() (int, error) {
			r := sse.NewEventReader(io.MultiReader(strings.NewReader("data: "), strings.NewReader(text), bytes.NewReader([]byte("\n\n"))), 16<<20)
			ev, err := r.Next()
			return len(ev.Data), err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			n, err := tc.read()
			runtime.ReadMemStats(&after)
			if used := int(after.TotalAlloc - before.TotalAlloc); n != size || err != nil || used > tc.most {
				t.Errorf("%d bytes, %v, %d allocated", n, err, used)
			}
		})
	}
}

// TestLargeAnswerBufferIsUsedAgain checks that the next large response reuses the
// buffer of the last one, until a garbage collection frees it.
func TestLargeAnswerBufferIsUsedAgain(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	text := strings.Repeat("x", 15<<20)
	read := func(length int64) int {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		buf, err := readWhole(strings.NewReader(text[:length]), length, 16<<20)
		if int64(len(buf.b)) != length || err != nil {
			t.Fatalf("%d bytes, %v", len(buf.b), err)
		}
		if room := cap(buf.b) - len(buf.b); room < editRoom {
			t.Errorf("room for %d bytes behind", room)
		}
		buf.free()
		runtime.ReadMemStats(&after)
		return int(after.TotalAlloc - before.TotalAlloc)
	}
	runtime.GC()
	if n := read(14 << 20); n < 14<<20 {
		t.Errorf("%d bytes for the first answer", n)
	}
	if n := read(14<<20 - 1); n > 1<<20 {
		t.Errorf("%d bytes for the second answer", n)
	}
	if n := read(15 << 20); n < 15<<20 {
		t.Errorf("%d bytes for one that is larger", n)
	}
	if n := read(2 << 20); n < 2<<20 {
		t.Errorf("%d bytes for one that is much smaller: it holds a large buffer", n)
	}
	read(15 << 20)
	runtime.GC()
	if n := read(15 << 20); n < 15<<20 {
		t.Errorf("%d bytes after a collection: it did not get the buffer", n)
	}
}

// TestAnswerBufferGrows checks that a buffer that has grown returns to the pool of
// its new size, and that the smaller buffer returns to its own.
func TestAnswerBufferGrows(t *testing.T) {
	buf := newAnswerBuffer(0)
	b := append(buf.b, "some text"...)
	for _, size := range []int{64 << 10, 1 << 20, 3 << 20} {
		b = buf.grow(b, size)
		if string(b) != "some text" || cap(b) < size || &buf.b[0] != &b[0] {
			t.Fatalf("%q of %d bytes after growing to %d", b, cap(b), size)
		}
	}
}
