package probe

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Frame is one message on the wire, with secrets replaced.
type Frame struct {
	At   time.Time
	Sent bool
	// Method, Status and Header are for HTTP; empty for other transports.
	Method string
	Status int
	Header http.Header
	Body   []byte

	owner uint64 // the call on whose stream it travelled; 0 if unknown
}

const (
	maxFrames     = 4096
	maxFrameBytes = 32 << 20
	// shortest is the minimum length of a secret that is replaced: a shorter
	// one would match everywhere.
	shortest = 4
)

const Hidden = "***"

// secretHeaders are never shown.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key"}

// A tap keeps the last frames of a connection.
type tap struct {
	secrets [][]byte
	header  http.Header // configured headers, hidden wherever they appear
	onFrame func(Frame)

	mu     sync.Mutex
	frames []Frame
	first  int // number of frames[0], counted from the first frame
	bytes  int
}

func newTap(t *Target, onFrame func(Frame)) *tap {
	p := &tap{header: t.Header, onFrame: onFrame}
	for _, s := range t.Secrets {
		if len(s) < shortest {
			continue
		}
		p.secrets = append(p.secrets, []byte(s))
		if quoted := jsonrpc.Quote(s); len(quoted) != len(s)+2 {
			p.secrets = append(p.secrets, quoted[1:len(quoted)-1]) // as written in JSON
		}
	}
	return p
}

// note records one frame; body is copied.
func (p *tap) note(f Frame, body []byte) {
	f.At = time.Now()
	f.Body = p.redact(body)
	f.Header = p.redactHeader(f.Header)
	p.mu.Lock()
	p.frames = append(p.frames, f)
	p.bytes += len(f.Body)
	for len(p.frames) > maxFrames || p.bytes > maxFrameBytes && len(p.frames) > 1 {
		p.bytes -= len(p.frames[0].Body)
		p.frames = p.frames[1:]
		p.first++
	}
	p.mu.Unlock()
	if p.onFrame != nil {
		p.onFrame(f)
	}
}

func (p *tap) redact(body []byte) []byte {
	out := bytes.Clone(body)
	for _, s := range p.secrets {
		out = bytes.ReplaceAll(out, s, []byte(Hidden))
	}
	return out
}

func (p *tap) redactHeader(h http.Header) http.Header {
	if h == nil {
		return nil
	}
	out := h.Clone()
	for name := range out {
		configured := p.header.Get(name) != "" && !strings.EqualFold(name, "User-Agent")
		if configured || slices.Contains(secretHeaders, http.CanonicalHeaderKey(name)) {
			out[name] = []string{Hidden}
		}
	}
	return out
}

// mark returns the number of the next frame.
func (p *tap) mark() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first + len(p.frames)
}

// since returns the frames from a mark on.
func (p *tap) since(mark int) []Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.frames[min(max(mark-p.first, 0), len(p.frames)):])
}

// A tappedStream records every message.
type tappedStream struct {
	jsonrpc.Stream
	tap  *tap
	part *partings
}

func (s *tappedStream) Read() ([]byte, func(), error) {
	msg, release, err := s.Stream.Read()
	if err == nil {
		s.tap.note(Frame{}, msg)
	}
	return msg, release, err
}

// Write records a message before it is sent, because the answer may arrive
// before Write returns.
func (s *tappedStream) Write(parts ...[]byte) error {
	msg := bytes.Join(parts, nil)
	s.tap.note(Frame{Sent: true}, msg)
	err := s.Stream.Write(parts...)
	s.part.saw(msg)
	return err
}
