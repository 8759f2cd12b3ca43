package jsonrpc

import (
	"encoding/binary"
	"math/bits"
)

// ScanAnswer reads any message from a server. It checks the envelope, the shape
// (brackets, strings, depth) and, up to 32 KiB, the grammar of a
// result; it does not check anything else. If one of result and error is null,
// the other is used.
func ScanAnswer(data []byte, lim *ScanLimits) (Message, *Error) {
	limits := lim.orDefaults()
	var env members
	if err := scanShape(data, &env, &limits); err != nil {
		if err.Code == CodeInvalidRequest {
			return Message{ID: env.id}, err // valid JSON, but refused: its call must not keep waiting
		}
		return Message{}, err
	}
	if r := env.result; len(data) <= peekUnread && r != nil && !wellFormed(r, limits.Depth-1) {
		return Message{ID: env.id}, Errorf(CodeInvalidRequest, "the result is not JSON")
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
		return Errorf(CodeParse, "message is not a JSON object")
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
		return Errorf(CodeParse, "message is not a JSON object")
	}
	return nil
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
	return skipText(d, i)
}
