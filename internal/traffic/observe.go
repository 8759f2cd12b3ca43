package traffic

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
)

// A Span is the position of a call in a trace, as defined by W3C Trace Context.
type Span struct {
	Trace      [16]byte
	ID, Parent [8]byte
	// Sampled is the client's decision; it is valid if Decided is set.
	Decided, Sampled bool
}

// NewSpan returns the span of a client's call. It belongs to the client's trace
// if the traceparent is valid, otherwise it starts a new trace.
func NewSpan(traceparent string) Span {
	s := Span{ID: spanID()}
	if s.join(traceparent) {
		return s
	}
	a, b := spanID(), spanID()
	s = Span{ID: s.ID}
	copy(s.Trace[:8], a[:])
	copy(s.Trace[8:], b[:])
	return s
}

// join parses version-trace-parent-flags; later versions may have more fields.
func (s *Span) join(text string) bool {
	const length = 55
	if len(text) < length || text[2] != '-' || text[35] != '-' || text[52] != '-' || text[:2] == "ff" ||
		len(text) > length && (text[:2] == "00" || text[length] != '-') {
		return false
	}
	var flags [1]byte
	for _, part := range []struct {
		into []byte
		text string
	}{{flags[:], text[:2]}, {s.Trace[:], text[3:35]}, {s.Parent[:], text[36:52]}, {flags[:], text[53:55]}} {
		if _, err := hex.Decode(part.into, []byte(part.text)); err != nil {
			return false
		}
	}
	s.Decided, s.Sampled = true, flags[0]&1 == 1
	return s.Trace != [16]byte{} && s.Parent != [8]byte{}
}

// Child returns a new span whose parent is s.
func (s Span) Child() Span {
	s.ID, s.Parent = spanID(), s.ID
	return s
}

func spanID() (id [8]byte) {
	n := rand.Uint64() | 1 // all zeros is invalid
	for i := range id {
		id[i] = byte(n >> (8 * i))
	}
	return id
}

// An Observation is a call that has ended. The observer may use it, and the data
// it refers to, only until it returns.
type Observation struct {
	Call
	Span Span
	// Item is the server's own name of what was called; empty if no server was
	// found.
	Item string
	// Script is the code that it ran, where its arguments do not say it.
	Script string
	// Request is the raw params.
	Request []byte
	// Yes is the approval that a person gave; nil if the call needed none.
	Yes *Yes
	// Forward says by which replica the call came; zero if its client is
	// connected to this one.
	Forward Forward
}

// A Forward is the way of a call that another replica has forwarded.
type Forward struct {
	From    string // the replica that the client is connected to
	Request string // the client's id of the request there, as raw JSON
}

type fromKey struct{}

// WithFrom returns the context of a request that a replica has forwarded.
func WithFrom(ctx context.Context, replica string) context.Context {
	return context.WithValue(ctx, fromKey{}, replica)
}

// From returns the replica that has forwarded a request; empty for none.
func From(ctx context.Context) string {
	replica, _ := ctx.Value(fromKey{}).(string)
	return replica
}
