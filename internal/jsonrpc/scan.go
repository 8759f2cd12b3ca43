package jsonrpc

import "sync"

// Scan reads one message from a client strictly: UTF-8, grammar, depth,
// trailing data, duplicate keys at every level, lone surrogates. What it
// accepts can be read in one way only, so its bytes may be passed on.
//
// Beside an error the message still holds the id when it could be read, so
// that it can be echoed; its Kind is KindInvalid unless only params is wrong.
func Scan(data []byte, lim *ScanLimits) (Message, *Error) {
	s := newScanner(data, lim)
	var env members
	s.envelope(&env)
	err := s.err
	msg, bad := env.message(&s.lim)
	odd := s.odd
	s.free()
	if err != nil {
		msg.Kind = KindInvalid
		return msg, err
	}
	if odd && bad == nil && len(msg.Params) > 0 {
		msg.Params = exact(msg.Method, msg.Params)
	}
	return msg, bad
}

// Valid reports whether data is exactly one JSON value: strict grammar,
// strict UTF-8, no lone surrogates, at most 1,000 levels.
func Valid(data []byte) bool {
	s := newScanner(data, nil)
	s.checkKeys = false
	s.document(s.value(0))
	ok := s.err == nil
	s.free()
	return ok
}

// A scanner is one strict pass over one buffer. It goes on after the first
// complaint where it can, so that an id further on is still found.
type scanner struct {
	data      []byte
	lim       ScanLimits
	err       *Error
	checkKeys bool
	inner     bool // the last member of params is one of inner
	odd       bool // there may be a variant of routed
	frames    []frame
	keySet
}

// A frame is one open object or array.
type frame struct {
	object bool
	keys   uint32 // where its keys begin in keySet.keys
	text   uint32 // where its unescaped keys begin in keySet.text
	table  uint32 // where its hash table begins in keySet.table
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

func newScanner(data []byte, lim *ScanLimits) *scanner {
	s := scanners.Get().(*scanner)
	s.data = data
	s.lim = lim.orDefaults()
	s.checkKeys = true
	if uint64(len(data)) >= inText {
		s.complain(CodeInvalidRequest, "message too large")
		s.data = nil
	}
	return s
}

// keepKeys is the largest key set that is worth keeping for the next scan.
const keepKeys = 4096

func (s *scanner) free() {
	s.data, s.err, s.inner, s.odd = nil, nil, false, false
	s.frames = s.frames[:0]
	s.keySet.reset()
	scanners.Put(s)
}

// overLimit is the error of a message that exceeds one of ScanLimits.
func overLimit(limit, format string, args ...any) *Error {
	err := Errorf(CodeInvalidRequest, format, args...)
	err.Limit = limit
	return err
}

// complain notes what is wrong; the first complaint counts.
func (s *scanner) complain(code int64, format string, args ...any) {
	if s.err == nil {
		s.err = Errorf(code, format, args...)
	}
}

// syntax notes a grammar error and returns the position that ends the scan.
func (s *scanner) syntax(i int, what string) int {
	s.complain(CodeParse, "%s at byte %d", what, i)
	return -1
}

// envelope reads the whole buffer as one object and keeps its known members.
func (s *scanner) envelope(env *members) {
	i := s.space(0)
	if i >= len(s.data) || s.data[i] != '{' {
		if s.document(s.value(i)); s.err == nil {
			s.complain(CodeInvalidRequest, "message must be an object")
		}
		return
	}
	s.push(true)
	i = s.space(i + 1)
	if i < len(s.data) && s.data[i] == '}' {
		s.document(i + 1)
		return
	}
	for i >= 0 {
		var key []byte
		if i, key = s.key(i); i < 0 {
			return
		}
		i = s.space(i)
		start, fine := i, s.err == nil
		if i = s.value(i); i < 0 {
			return
		}
		// A member that is refused for what is in it counts as absent.
		fine = fine == (s.err == nil)
		if field := env.member(key); field != nil && *field == nil && fine {
			*field = s.data[start:i:i]
		}
		i = s.space(i)
		switch {
		case i >= len(s.data):
			i = s.syntax(i, "unexpected end")
		case s.data[i] == ',':
			i = s.space(i + 1)
		case s.data[i] == '}':
			s.document(i + 1)
			return
		default:
			i = s.syntax(i, "expected , or }")
		}
	}
}

// document checks that nothing but white space follows the root value.
func (s *scanner) document(end int) {
	if end < 0 {
		return
	}
	if end = s.space(end); end < len(s.data) {
		s.syntax(end, "data after the message")
	}
}
