package traffic

import (
	"encoding/hex"
	"math/rand/v2"
)

// A Span places a call in a trace, as W3C Trace Context has it.
type Span struct {
	Trace      [16]byte
	ID, Parent [8]byte
	// Sampled is what the client decided; it counts when Decided.
	Decided, Sampled bool
}

// NewSpan is the span of a client's call: in the client's own trace where its
// traceparent can be read, else the first of a new one.
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

// join reads version-trace-parent-flags; later versions may have more.
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

// Child is a span that this one caused.
func (s Span) Child() Span {
	s.ID, s.Parent = spanID(), s.ID
	return s
}

func spanID() (id [8]byte) {
	n := rand.Uint64() | 1 // all zeros means none
	for i := range id {
		id[i] = byte(n >> (8 * i))
	}
	return id
}

// An Observation is one call that has ended. It and what it refers to are the
// observer's only until it returns.
type Observation struct {
	Call
	Span Span
	// Item is the server's own name for what was called; empty where no server
	// was found.
	Item string
	// Script is the code that it ran, where its arguments do not say it.
	Script string
	// Request is the raw params.
	Request []byte
	// Yes is the one that a person gave to it; nil where it needed none.
	Yes *Yes
}
