package jsonrpc

import "sync"

// Scan reads one message from a client strictly: UTF-8, grammar, depth,
// trailing data, duplicate keys at every level, lone surrogates. An accepted
// message has only one interpretation, so its bytes may be forwarded.
//
// With an error, the message still holds the id if it could be read, so that
// the answer can echo it; its Kind is KindInvalid unless only params is wrong.
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
func Valid(data []byte) bool { return valid(data, defaultLimits.Depth) }

// valid is like Valid, with a given limit of levels.
func valid(data []byte, depth int) bool {
	s := newScanner(data, nil)
	s.lim.Depth = depth
	s.checkKeys = false
	s.document(s.value(0))
	ok := s.err == nil
	s.free()
	return ok
}

// A scanner makes one strict pass over one buffer. It continues after the first
// complaint if possible, to find an id that comes later.
type scanner struct {
	data      []byte
	lim       ScanLimits
	err       *Error
	checkKeys bool
	inner     bool // the current member of params is listed in inner
	odd       bool // there may be a variant of a routed name
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

// keepKeys is the size up to which a key set is reused for the next scan.
const keepKeys = 4096

func (s *scanner) free() {
	s.data, s.err, s.inner, s.odd = nil, nil, false, false
	s.frames = s.frames[:0]
	s.keySet.reset()
	scanners.Put(s)
}

// overLimit returns the error for a message that exceeds a field of ScanLimits.
func overLimit(limit, format string, args ...any) *Error {
	err := Errorf(CodeInvalidRequest, format, args...)
	err.Limit = limit
	return err
}

// complain records an error; only the first one is kept.
func (s *scanner) complain(code int64, format string, args ...any) {
	if s.err == nil {
		s.err = Errorf(code, format, args...)
	}
}

// syntax records a grammar error and returns -1, which ends the scan.
func (s *scanner) syntax(i int, what string) int {
	s.complain(CodeParse, "%s at byte %d", what, i)
	return -1
}

// envelope reads the whole buffer as one object and records its known members.
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
		// A member whose content is refused counts as absent.
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
