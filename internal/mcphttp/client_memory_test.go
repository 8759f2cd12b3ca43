package mcphttp

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
)

// A large answer costs little more than one buffer, whichever way it comes.
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
			r := NewEventReader(io.MultiReader(strings.NewReader("data: "), strings.NewReader(text), bytes.NewReader([]byte("\n\n"))), 16<<20)
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
