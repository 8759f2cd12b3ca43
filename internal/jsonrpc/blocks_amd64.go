//go:build !purego

package jsonrpc

import (
	"bytes"
	"math/bits"

	"golang.org/x/sys/cpu"
)

// wide says that 32 bytes can be compared at once.
var wide = cpu.X86.HasAVX2

// blockMasks tells where in a block quotes, backslashes, opening and closing
// brackets stand: one bit for each byte.
//
//go:noescape
func blockMasks(p *[64]byte) (quotes, slashes, opens, closes uint64)

// unescapedQuote passes over the blocks, among the n bytes at p, that have no
// quote but escaped ones. It returns how many bytes those are, where in the next
// block the others stand, nowhere when less than a block is left, and whether
// what is behind is escaped: 0 or 1.
//
//go:noescape
func unescapedQuote(p *byte, n int) (done int, quotes, escaped uint64)

// skipText returns the end of the string that i stands in, or -1.
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

// plainBlocks passes over the blocks, among the n bytes at p, without a line
// break, and returns how many bytes those are.
//
//go:noescape
func plainBlocks(p *byte, n int) (done int)

// HasLineBreak says whether there is a line feed or a carriage return in p.
func HasLineBreak(p []byte) bool {
	if len(p) >= 64 {
		p = p[plainBlocks(&p[0], len(p)):]
		p = p[:min(len(p), 64)]
	}
	return bytes.IndexByte(p, '\n') >= 0 || bytes.IndexByte(p, '\r') >= 0
}
