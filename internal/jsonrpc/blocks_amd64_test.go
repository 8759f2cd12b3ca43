//go:build !purego

package jsonrpc

import "testing"

// TestNarrowBlocks does what is tested elsewhere without the wide registers that
// this processor may have.
func TestNarrowBlocks(t *testing.T) {
	defer func(w bool) { wide = w }(wide)
	wide = false
	t.Run("brackets", TestBracketsByByte)
	t.Run("line breaks", TestHasLineBreak)
}
