//go:build linux || darwin

package stdio_test

import (
	"io"
	"strings"
	"testing"

	"mcp-all-in-one/internal/stdio"
)

// TestReady sees that what has come while nobody read counts as being there,
// and that asking never waits.
func TestReady(t *testing.T) {
	r, w := pipe(t)
	s := stdio.NewStream(r, io.Discard, stdio.StreamOptions{})
	defer s.Close()
	for _, step := range []struct {
		name, come string
		ready      bool
		read       string
	}{
		{name: "nothing"},
		{name: "a line", come: "{}\n", ready: true, read: "{}"},
		{name: "a part of a line", come: `{"a":`},
		{name: "its end, and the next one", come: "1}\n[]\n", ready: true, read: `{"a":1}`},
		{name: "the next one", ready: true, read: "[]"},
		{name: "less than a long line", come: strings.Repeat("x", 60<<10)},
		{name: "its end", come: "\n", ready: true, read: strings.Repeat("x", 60<<10)},
	} {
		t.Run(step.name, func(t *testing.T) {
			if _, err := io.WriteString(w, step.come); err != nil {
				t.Fatal(err)
			}
			if got := s.Ready(); got != step.ready {
				t.Fatalf("ready: %v, want %v", got, step.ready)
			}
			if !step.ready {
				return
			}
			msg, release, err := s.Read()
			if err != nil || string(msg) != step.read {
				t.Fatalf("read %.40q, %v, want %.40q", msg, err, step.read)
			}
			release()
		})
	}
	w.Close()
	if s.Ready() {
		t.Error("the end counts as a line")
	}
	if _, _, err := s.Read(); err != io.EOF {
		t.Errorf("reading at the end: %v", err)
	}
}
