package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// ScanAnswer reads any message from a server. It judges the envelope and the
// shape (brackets, strings, depth) and leaves everything inside alone. Among
// result and error one that is null gives way to the other.
func ScanAnswer(data []byte, lim *ScanLimits) (Message, *Error) {
	limits := lim.orDefaults()
	var env members
	if err := scanShape(data, &env, &limits); err != nil {
		if err.Code == CodeInvalidRequest {
			return Message{ID: env.id}, err // JSON, but refused: its call must not wait on
		}
		return Message{}, err
	}
	if env.result != nil && env.err != nil {
		switch {
		case string(env.err) == "null":
			env.err = nil
		case string(env.result) == "null":
			env.result = nil
		}
	}
	return env.message(&limits)
}

func scanShape(data []byte, env *members, lim *ScanLimits) *Error {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		if IsBatch(data) {
			return Errorf(CodeInvalidRequest, "message must be an object")
		}
		return Errorf(CodeParse, "message is no JSON object")
	}
	w := walker{data: data, i: i, depth: lim.Depth - 1}
	w.open()
	for w.next() {
		field := env.member(w.key())
		if field == nil {
			continue
		}
		if *field != nil {
			return Errorf(CodeInvalidRequest, "duplicate key %s", w.rawKey())
		}
		*field = data[w.value:w.end:w.end]
	}
	if w.end == tooDeep {
		return Errorf(CodeInvalidRequest, "nested deeper than %d levels", lim.Depth)
	}
	if !w.closed || skipSpace(data, w.i) != len(data) {
		return Errorf(CodeParse, "message is no JSON object")
	}
	return nil
}

const tooDeep = -2

// shapeEnd returns the end of the value at i if its strings end and its
// brackets match, -1 if not, and tooDeep past the given depth.
func shapeEnd(d []byte, i, depth int) int {
	if i >= len(d) {
		return -1
	}
	if d[i] != '{' && d[i] != '[' {
		return skipValue(d, i)
	}
	var fixed [16]uint64 // one bit per level: is it an object?
	kinds := fixed[:]
	if depth > 64*len(fixed) {
		kinds = make([]uint64, depth/64+1)
	}
	level := 0
	for i < len(d) {
		c := d[i]
		switch marks[c] {
		case plain:
		case quote:
			if i = skipString(d, i); i < 0 {
				return -1
			}
			continue
		case opening:
			if level >= depth {
				return tooDeep
			}
			bit := uint64(1) << (level & 63)
			if c == '{' {
				kinds[level>>6] |= bit
			} else {
				kinds[level>>6] &^= bit
			}
			level++
		case closing:
			level--
			if (kinds[level>>6]>>(level&63)&1 == 1) != (c == '}') {
				return -1
			}
			if level == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// marks are the characters that shape JSON.
var marks = [256]uint8{'"': quote, '{': opening, '[': opening, '}': closing, ']': closing}

const (
	plain = iota
	quote
	opening
	closing
)

// skipValue returns the end of the value at i, or -1. It counts brackets
// without telling their kinds and trusts everything else.
func skipValue(d []byte, i int) int {
	if i >= len(d) {
		return -1
	}
	switch d[i] {
	case '"':
		return skipString(d, i)
	case '{', '[':
	default:
		return skipScalar(d, i)
	}
	for level := 0; i < len(d); {
		switch marks[d[i]] {
		case quote:
			if i = skipString(d, i); i < 0 {
				return -1
			}
			continue
		case opening:
			level++
		case closing:
			if level--; level == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// skipScalar returns the end of the number or word at i, or -1 if there is
// none.
func skipScalar(d []byte, i int) int {
	start := i
	for i < len(d) {
		switch c := d[i]; {
		case isDigit(c), 'a' <= c && c <= 'z', c == '-', c == '+', c == '.', c == 'E':
			i++
			continue
		}
		break
	}
	if i == start {
		return -1
	}
	return i
}

// skipString returns the end of the string whose opening quote is at i, or -1.
func skipString(d []byte, i int) int {
	i++
	for short := i + 32; i < short && i+8 <= len(d); {
		w := binary.LittleEndian.Uint64(d[i:])
		quotes, slashes := w^'"'*lanes, w^'\\'*lanes
		m := ((quotes-lanes)&^quotes | (slashes-lanes)&^slashes) & highBits
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if d[i] == '"' {
			return i + 1
		}
		i += 2
	}
	for start := i; i <= len(d); i++ {
		n := bytes.IndexByte(d[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for i-slashes > start && d[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes&1 == 0 {
			return i + 1
		}
	}
	return -1
}
