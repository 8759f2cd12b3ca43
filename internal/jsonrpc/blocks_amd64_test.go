//go:build !noasm

package jsonrpc

import "testing"

// TestNarrowBlocks repeats other tests without the wide registers that this
// processor may have.
func TestNarrowBlocks(t *testing.T) {
	defer func(w bool) { wide = w }(wide)
	wide = false
	t.Run("brackets", TestBracketsByByte)
	t.Run("line breaks", TestHasLineBreak)
	t.Run("strings", TestLongStrings)
}
