package peer

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// A recorder is an output that keeps what is written, part by part.
type recorder struct{ parts [][]byte }

func (r *recorder) Write(p []byte) (int, error) {
	r.parts = append(r.parts, bytes.Clone(p))
	return len(p), nil
}
func (*recorder) Flush() error                     { return nil }
func (*recorder) SetWriteDeadline(time.Time) error { return nil }

// pieces reads a text in pieces of random sizes.
type pieces struct{ strings.Reader }

func (p *pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:1+rand.N(len(b))]) }

// TestEvents checks that events arrive unchanged, and whole if they fit into the
// buffer.
func TestEvents(t *testing.T) {
	var text strings.Builder
	for range 2000 {
		text.WriteString("id: 1\ndata: " + strings.Repeat("x", rand.N(300)) + "\n\n" + strings.Repeat("\n", rand.N(3)/2))
		if rand.N(100) == 0 {
			text.WriteString("data: " + strings.Repeat("y", rand.N(3000)) + "\n\n")
		}
	}
	for name, from := range map[string]io.Reader{
		"pieces":       &pieces{*strings.NewReader(text.String())},
		"single bytes": iotest.OneByteReader(strings.NewReader(text.String())),
	} {
		t.Run("cluster/events/"+name, func(t *testing.T) {
			out := &recorder{}
			c := &copying{n: &Node{}, out: out, buf: make([]byte, 1024)}
			if !c.events(from) {
				t.Error("left in the middle")
			}
			if got := string(bytes.Join(out.parts, nil)); got != text.String() {
				t.Errorf("got %d bytes, want %d", len(got), text.Len())
			}
			for i, part := range out.parts[:len(out.parts)-1] {
				if !bytes.HasSuffix(part, []byte("\n\n")) && len(part) < 1024 {
					t.Errorf("part %d ends inside an event: %q", i, part)
				}
			}
		})
	}
}

// records reads a text in pieces of the size of a TLS record.
type records struct{ bytes.Reader }

func (r *records) Read(b []byte) (int, error) { return r.Reader.Read(b[:min(len(b), oneRecord)]) }

// discards is an output that is not read.
type discards struct{ recorder }

func (*discards) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkEvents copies an event of 1 MB.
func BenchmarkEvents(b *testing.B) {
	text := []byte("data: " + strings.Repeat("x", 1<<20) + "\n\n")
	c := &copying{n: &Node{}, out: &discards{}, buf: make([]byte, held)}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		c.events(&records{*bytes.NewReader(text)})
	}
}
