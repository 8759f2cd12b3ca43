//go:build !noasm

package jsonrpc

import (
	"bytes"
	"math/bits"

	"golang.org/x/sys/cpu"
)

// wide reports whether the CPU can compare 32 bytes at once.
var wide = cpu.X86.HasAVX2

// blockMasks returns the positions of quotes, backslashes, opening brackets and
// closing brackets in a block, as one bit per byte.
//
//go:noescape
func blockMasks(p *[64]byte) (quotes, slashes, opens, closes uint64)

// stopMask returns the positions of all stops in a block; see stops.
//
//go:noescape
func stopMask(p *[64]byte) (stops uint64)

// hasStopMask says that stopMask is faster than stops.
const hasStopMask = true

// unescapedQuote skips the blocks among the n bytes at p that contain no
// unescaped quote. It returns the number of skipped bytes, the positions of the
// unescaped quotes in the next block (0 if less than a block is left), and
// whether the byte after the skipped blocks is escaped (0 or 1).
//
//go:noescape
func unescapedQuote(p *byte, n int) (done int, quotes, escaped uint64)

// skipText returns the end of the string that contains position i, or -1.
func skipText(d []byte, i int) int {
	if i < len(d) {
		done, quotes, escaped := unescapedQuote(&d[i], len(d)-i)
		if i += done; quotes != 0 {
			return i + bits.TrailingZeros64(quotes) + 1
		}
		i += int(escaped)
	}
	for ; i < len(d); i++ {
		switch d[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
}

// plainBlocks skips the blocks among the n bytes at p that contain no line
// break, and returns the number of skipped bytes.
//
//go:noescape
func plainBlocks(p *byte, n int) (done int)

// HasLineBreak reports whether p contains a line feed or a carriage return.
func HasLineBreak(p []byte) bool {
	if len(p) >= 64 {
		p = p[plainBlocks(&p[0], len(p)):]
		p = p[:min(len(p), 64)]
	}
	return bytes.IndexByte(p, '\n') >= 0 || bytes.IndexByte(p, '\r') >= 0
}
