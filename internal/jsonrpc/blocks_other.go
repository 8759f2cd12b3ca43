//go:build !amd64 || noasm

package jsonrpc

import (
	"bytes"
	"encoding/binary"
)

// blockMasks returns the positions of quotes, backslashes, opening brackets and
// closing brackets in a block, as one bit per byte.
func blockMasks(p *[64]byte) (quotes, slashes, opens, closes uint64) {
	for n := 0; n < 64; n += 8 {
		w := binary.LittleEndian.Uint64(p[n:])
		folded := w | 0x20*lanes // turns brackets into braces
		quotes |= equal(w, '"') << n
		slashes |= equal(w, '\\') << n
		opens |= equal(folded, '{') << n
		closes |= equal(folded, '}') << n
	}
	return quotes, slashes, opens, closes
}

// hasStopMask says that there is no stopMask.
const hasStopMask = false

func stopMask(*[64]byte) uint64 { panic("no stopMask") }

// equal returns one bit per byte of w, set if the byte equals c.
func equal(w uint64, c byte) uint64 {
	w ^= uint64(c) * lanes
	zero := ^((w&^highBits + (highBits - lanes)) | w) & highBits
	return zero >> 7 * 0x0102040810204080 >> 56
}

// skipText returns the end of the string that contains position i, or -1.
func skipText(d []byte, i int) int {
	for start := i; i < len(d); i++ {
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

// HasLineBreak reports whether p contains a line feed or a carriage return.
func HasLineBreak(p []byte) bool {
	return bytes.IndexByte(p, '\n') >= 0 || bytes.IndexByte(p, '\r') >= 0
}
