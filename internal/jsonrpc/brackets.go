package jsonrpc

import "math/bits"

// Brackets are found 64 bytes at a time and without a branch per bracket: the
// positions of the brackets, and which of them are inside strings, are computed
// for the whole block.

// brackets returns the positions of the brackets outside strings in the block
// at i, as one bit per byte. The block must begin outside a string. rest is the
// state after the block, for behind.
func brackets(d []byte, i int) (opens, closes uint64, rest int) {
	var quotes, slashes uint64
	if i+64 <= len(d) {
		quotes, slashes, opens, closes = blockMasks((*[64]byte)(d[i:]))
	} else {
		var last [64]byte
		copy(last[:], d[i:])
		quotes, slashes, opens, closes = blockMasks(&last)
	}
	hidden, escaped := uint64(0), uint64(0)
	if slashes != 0 {
		hidden, escaped = escapes(slashes)
	}
	inside := between(quotes &^ hidden)
	switch {
	case slashes&^inside != 0:
		return 0, 0, noJSON
	case inside>>63 == 1:
		rest = inString + int(escaped)
	}
	return opens &^ inside, closes &^ inside, rest
}

// States after a block. Zero means that the next block begins outside a string.
const (
	noJSON         = -1
	inString       = 1
	inStringEscape = 2
)

// behind returns the position after the block at i where scanning continues, or
// -1. It skips a string that reaches beyond the block. The string may be long,
// so callers call behind only if they need the position.
func behind(d []byte, i, rest int) int {
	switch rest {
	case 0:
		return i + 64
	case inString:
		return skipText(d, i+64)
	case inStringEscape:
		return skipText(d, i+65)
	}
	return -1
}

// escapes returns the escaped bytes of a block, given its backslashes, and
// whether the byte after the block is escaped: 0 or 1.
//
// In a run of backslashes, every second one is escaped itself. The addition
// finds the runs that begin at an odd position: its carry propagates through
// them.
func escapes(slashes uint64) (escaped, next uint64) {
	const odd = 0xaaaaaaaaaaaaaaaa
	follows := slashes << 1
	rows, next := bits.Add64(slashes&odd&^follows, slashes, 0)
	return (^uint64(odd) ^ rows<<1) & follows, next
}

// between sets the bits from each opening quote up to, but not including, the
// quote that closes it.
func between(quotes uint64) uint64 {
	quotes ^= quotes << 1
	quotes ^= quotes << 2
	quotes ^= quotes << 4
	quotes ^= quotes << 8
	quotes ^= quotes << 16
	return quotes ^ quotes<<32
}

const tooDeep = -2

// shapeEnd returns the end of the value at i. It returns -1 if a string does
// not end or the brackets do not match, and tooDeep if the value is nested
// deeper than depth.
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
	for level := 0; 0 <= i && i < len(d); {
		opens, closes, rest := brackets(d, i)
		for marks := opens | closes; marks != 0; marks &= marks - 1 {
			at := i + bits.TrailingZeros64(marks)
			if marks&-marks&opens != 0 {
				if level >= depth {
					return tooDeep
				}
				setBit(kinds, level, d[at] == '{')
				level++
				continue
			}
			level--
			if (kinds[level>>6]>>(level&63)&1 == 1) != (d[at] == '}') {
				return -1
			}
			if level == 0 {
				return at + 1
			}
		}
		i = behind(d, i, rest)
	}
	return -1
}

func setBit(set []uint64, n int, on bool) {
	bit := uint64(1) << (n & 63)
	if on {
		set[n>>6] |= bit
	} else {
		set[n>>6] &^= bit
	}
}

// skipValue returns the end of the value at i, or -1. It counts brackets
// without comparing their kinds and checks nothing else.
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
	for level := 0; 0 <= i && i < len(d); {
		opens, closes, rest := brackets(d, i)
		if left := level - bits.OnesCount64(closes); left > 0 {
			level = left + bits.OnesCount64(opens)
			i = behind(d, i, rest)
			continue
		}
		for marks := opens | closes; marks != 0; marks &= marks - 1 {
			if marks&-marks&opens != 0 {
				level++
			} else if level--; level == 0 {
				return i + bits.TrailingZeros64(marks) + 1
			}
		}
		i = behind(d, i, rest)
	}
	return -1
}
