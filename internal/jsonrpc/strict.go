package jsonrpc

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

func (s *scanner) space(i int) int { return skipSpace(s.data, i) }

// spaces has one bit per white space character.
const spaces uint64 = 1<<' ' | 1<<'\n' | 1<<'\r' | 1<<'\t'

func skipSpace(d []byte, i int) int {
	for i < len(d) && d[i] <= ' ' && spaces>>d[i]&1 == 1 {
		i++
	}
	return i
}

// push opens an object or array; it returns false beyond the depth limit.
func (s *scanner) push(object bool) bool {
	if len(s.frames) >= s.lim.Depth {
		if s.err == nil {
			s.err = overLimit("depth", "nested deeper than %d levels", s.lim.Depth)
		}
		return false
	}
	s.frames = append(s.frames, frame{
		object: object,
		keys:   uint32(len(s.keys)),
		text:   uint32(len(s.text)),
		table:  uint32(len(s.table)),
	})
	return true
}

// pop closes the innermost object or array; it reports whether the enclosing
// value is an object.
func (s *scanner) pop() bool {
	top := len(s.frames) - 1
	f := &s.frames[top]
	s.keys = s.keys[:f.keys]
	s.text = s.text[:f.text]
	s.table = s.table[:f.table]
	s.frames = s.frames[:top]
	return top > 0 && s.frames[top-1].object
}

// value reads one value with all its contents and returns its end, or -1. It
// does not recurse, so nesting does not grow the goroutine's stack.
func (s *scanner) value(i int) int {
	d := s.data
	level, object := 0, false
	for {
		i = skipSpace(d, i)
		if i >= len(d) {
			return s.syntax(i, "unexpected end")
		}
		switch c := d[i]; {
		case c == '"':
			i, _ = s.str(i + 1)
		case c == '{' || c == '[':
			opened := false
			if i, opened = s.open(i, c); opened && i >= 0 {
				level++
				object = c == '{'
				continue
			}
		case isDigit(c) || c == '-':
			i = s.number(i)
		default:
			i = s.literal(i)
		}
		if i < 0 {
			return -1
		}
		for more := false; !more; {
			if level == 0 {
				return i
			}
			i = skipSpace(d, i)
			if i >= len(d) {
				return s.syntax(i, "unexpected end")
			}
			c := d[i]
			i++
			switch {
			case c == ',' && object:
				if i, _ = s.key(skipSpace(d, i)); i < 0 {
					return -1
				}
				more = true
			case c == ',':
				more = true
			case c == '}' && object, c == ']' && !object:
				object = s.pop()
				level--
			default:
				return s.syntax(i-1, "expected a comma or the closing bracket")
			}
		}
	}
}

// open enters the object or array at i, up to its first value. A value that is
// empty or nested too deep is skipped as a whole.
func (s *scanner) open(i int, c byte) (end int, opened bool) {
	d := s.data
	if !s.push(c == '{') {
		if end = skipValue(d, i); end < 0 {
			end = s.syntax(len(d), "unexpected end")
		}
		return end, false
	}
	i = skipSpace(d, i+1)
	if i < len(d) && d[i] == c+2 {
		s.pop()
		return i + 1, false
	}
	if c == '{' {
		i, _ = s.key(i)
	}
	return i, true
}

func (s *scanner) literal(i int) int {
	for _, word := range [...]string{"true", "false", "null"} {
		if end := i + len(word); end <= len(s.data) && string(s.data[i:end]) == word {
			return end
		}
	}
	return s.syntax(i, "expected a value")
}

func (s *scanner) number(start int) int {
	d, i := s.data, start
	if d[i] == '-' {
		i++
	}
	switch {
	case i < len(d) && d[i] == '0':
		i++
	default:
		first := i
		if i = digits(d, i); i == first {
			return s.syntax(i, "expected a digit")
		}
	}
	if i < len(d) && d[i] == '.' {
		first := i + 1
		if i = digits(d, first); i == first {
			return s.syntax(i, "expected a digit")
		}
	}
	if i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		i++
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		first := i
		if i = digits(d, i); i == first {
			return s.syntax(i, "expected a digit")
		}
	}
	if i-start > s.lim.NumberBytes {
		s.complain(CodeInvalidRequest, "number of %d bytes is over the limit of %d", i-start, s.lim.NumberBytes)
	}
	return i
}

func digits(d []byte, i int) int {
	for i < len(d) && isDigit(d[i]) {
		i++
	}
	return i
}

const (
	lanes    = 0x0101010101010101
	highBits = 0x80 * lanes
)

// stops marks the bytes of w that end a plain run of a string: a quote, a
// backslash, a control character or a non-ASCII byte. Only the lowest mark is
// exact.
func stops(w uint64) uint64 {
	quote, slash := w^'"'*lanes, w^'\\'*lanes
	return (w | (w - 0x20*lanes) | (quote - lanes) | (slash - lanes)) & highBits
}

// str reads a string whose opening quote is before i. It returns the end, or
// -1, and whether the string contains escapes.
func (s *scanner) str(i int) (end int, escaped bool) {
	d := s.data
	block, mask := -64, uint64(0) // where the last block begins, and its stops
	for short := i + 16; ; {
		switch {
		case hasStopMask && i >= short && i+64 <= len(d):
			if i-block >= 64 {
				block, mask = i, stopMask((*[64]byte)(d[i:]))
			}
			rest := mask >> (i - block)
			if rest == 0 {
				i = block + 64
				continue
			}
			i += bits.TrailingZeros64(rest)
		case i+8 <= len(d):
			m := stops(binary.LittleEndian.Uint64(d[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		case i >= len(d):
			return s.syntax(i, "unexpected end of a string"), escaped
		}
		c := d[i]
		if c == '"' {
			return i + 1, escaped
		}
		switch {
		case c >= utf8.RuneSelf:
			if end = runesEnd(d, i); end < 0 {
				return s.syntax(i, "invalid UTF-8"), escaped
			}
			i = end
		case c == '\\':
			escaped = true
			if i = s.escape(i); i < 0 {
				return -1, escaped
			}
		case c < 0x20:
			return s.syntax(i, "control character in a string"), escaped
		default:
			i++
		}
	}
}

// runesEnd returns the end of a run of non-ASCII characters, or -1 if they are
// not UTF-8.
func runesEnd(d []byte, i int) int {
	for i < len(d) && d[i] >= utf8.RuneSelf {
		c := d[i]
		switch {
		case c >= 0xc2 && c < 0xe0 && i+1 < len(d) && d[i+1]&0xc0 == 0x80:
			i += 2
			continue
		case c > 0xe0 && c < 0xed && i+2 < len(d) && d[i+1]&0xc0 == 0x80 && d[i+2]&0xc0 == 0x80:
			i += 3
			continue
		}
		r, n := utf8.DecodeRune(d[i:])
		if r == utf8.RuneError && n == 1 {
			return -1
		}
		i += n
	}
	return i
}

// escape reads the escape sequence at i and returns its end, or -1.
func (s *scanner) escape(i int) int {
	d := s.data
	if i+1 >= len(d) {
		return s.syntax(i, "unexpected end of a string")
	}
	switch d[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
	default:
		return s.syntax(i, "unknown escape")
	}
	r := hex4(d, i+2)
	if r < 0 {
		return s.syntax(i, "expected four hex digits")
	}
	if r < 0xd800 || r > 0xdfff {
		return i + 6
	}
	if r < 0xdc00 && i+7 < len(d) && d[i+6] == '\\' && d[i+7] == 'u' {
		if low := hex4(d, i+8); low >= 0xdc00 && low <= 0xdfff {
			return i + 12
		}
	}
	s.complain(CodeParse, "lone surrogate at byte %d", i)
	return i + 6
}

// hex4 reads four hex digits at i, or returns -1.
func hex4(d []byte, i int) rune {
	if i+4 > len(d) {
		return -1
	}
	var r rune
	for _, c := range d[i : i+4] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
