//go:build linux || darwin

package stdio_test

import (
	"io"
	"strings"
	"testing"

	"mcp-all-in-one/internal/stdio"
)

// TestOnWait sees that a reader says that it waits when it does, and only then:
// what has come while nobody read is read at once.
func TestOnWait(t *testing.T) {
	r, w := pipe(t)
	s := stdio.NewStream(r, io.Discard, stdio.StreamOptions{})
	defer s.Close()
	come, waited := "", 0
	write := func(text string) {
		if _, err := io.WriteString(w, text); err != nil {
			t.Error(err)
		}
	}
	s.OnWait(func() bool {
		waited++
		write(come) // what would be missed, if it could be
		come = ""
		return false
	})
	large := strings.Repeat("x", 60<<10)
	for _, step := range []struct {
		name, before, during string
		waits                int
		want                 string
	}{
		{"a line is there", "{}\n", "", 0, "{}"},
		{"another one came", "[]\n", "", 0, "[]"},
		{"nothing is there", "", "{\"a\":1}\n", 1, `{"a":1}`},
		{"half of it is there", `{"b":`, "2}\n", 1, `{"b":2}`},
		{"two are there", "1\n2\n", "", 0, "1"},
		{"the second", "", "", 0, "2"},
		{"a blank line is there", "\n", "3\n", 1, "3"},
		{"a large one", large, "\n", 1, large},
	} {
		t.Run(step.name, func(t *testing.T) {
			come, waited = step.during, 0
			write(step.before)
			msg, release, err := s.Read()
			if err != nil || string(msg) != step.want {
				t.Fatalf("read %.40q, %v, want %.40q", msg, err, step.want)
			}
			release()
			if waited != step.waits {
				t.Errorf("said %d times that it waits, want %d", waited, step.waits)
			}
		})
	}
	t.Run("something was done before", func(t *testing.T) {
		waited = 0
		s.OnWait(func() bool {
			if waited++; waited == 3 {
				write("4\n")
			}
			return waited < 3
		})
		if msg, _, err := s.Read(); string(msg) != "4" || err != nil || waited != 3 {
			t.Errorf("read %q, %v, after %d times", msg, err, waited)
		}
	})
	w.Close()
	if _, _, err := s.Read(); err != io.EOF {
		t.Errorf("reading at the end: %v", err)
	}
}
