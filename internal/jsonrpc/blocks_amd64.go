//go:build !purego

package jsonrpc

import "math/bits"

// blockMasks tells where in a block quotes, backslashes, opening and closing
// brackets stand: one bit for each byte.
//
//go:noescape
func blockMasks(p *[64]byte) (quotes, slashes, opens, closes uint64)

// plainText passes over the blocks, among the n bytes at p, that have neither a
// quote nor a backslash. It returns how many bytes those are and where in the
// next block the two stand, nowhere when less than a block is left.
//
//go:noescape
func plainText(p *byte, n int) (plain int, quotes, slashes uint64)

// skipText returns the end of the string that i stands in, or -1.
func skipText(d []byte, i int) int {
	escaped := uint64(0)
	for i+64 <= len(d) {
		plain, quotes, slashes := plainText(&d[i], len(d)-i)
		if plain > 0 {
			i += plain
			escaped = 0
		}
		if quotes|slashes == 0 {
			break // less than a block is left
		}
		var hidden uint64
		hidden, escaped = escapes(slashes, escaped)
		if quotes &^= hidden; quotes != 0 {
			return i + bits.TrailingZeros64(quotes) + 1
		}
		i += 64
	}
	for i += int(escaped); i < len(d); i++ {
		switch d[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
}
