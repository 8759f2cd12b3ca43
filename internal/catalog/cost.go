package catalog

import (
	"encoding/binary"
	"unicode/utf8"

	"mcp-all-in-one/internal/spelling"
)

// Cost is the cost of a text for a model.
type Cost struct {
	Bytes int `json:"bytes"`
	// Tokens is an estimate: one token is four ASCII characters, one character
	// of a script without spaces, or two other characters.
	Tokens int `json:"tokens"`
}

// Plus adds two costs.
func (c Cost) Plus(d Cost) Cost { return Cost{c.Bytes + d.Bytes, c.Tokens + d.Tokens} }

// CostOf measures a text.
func CostOf(data []byte) Cost {
	quarters := 0
	for i := 0; i < len(data); {
		if rest := data[i:]; len(rest) >= 8 && binary.NativeEndian.Uint64(rest)&0x8080808080808080 == 0 {
			quarters += 8 // all ASCII, like most of a list
			i += 8
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		i += n
		switch {
		case r < 0x80:
			quarters++
		case spelling.IsDense(r):
			quarters += 4
		default:
			quarters += 2
		}
	}
	return Cost{Bytes: len(data), Tokens: (quarters + 3) / 4}
}

// Receipt is the cost of a client's tool list in each mode.
type Receipt struct {
	Full    Cost `json:"full"`
	Compact Cost `json:"compact"`
	Search  Cost `json:"search"`
	Code    Cost `json:"code"`
}
