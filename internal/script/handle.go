package script

import (
	"encoding/json"
	"fmt"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
)

// handleMark begins a value that is only a handle, until the mark of the run
// replaces it: no server can guess that one.
const handleMark = `"result://":true`

// Handle is what a script gets instead of a value that is too large.
func Handle(uri string, size int, shape string) []byte {
	return fmt.Appendf(nil, `{%s,"uri":%s,"size":%d,"shape":%s}`, handleMark, jsonrpc.Quote(uri), size, jsonrpc.Quote(shape))
}

// maxSlice is the largest part of a handle's text.
const maxSlice = MaxValue / 2

// Slice is the part of a handle's text that a script asks for, and how much of
// it may be returned. all says that nothing may be left out of it.
func Slice(params []byte) (q kept.Query, limit int64, all bool) {
	var p struct {
		From        int64
		N           int64
		First, Last int
	}
	if json.Unmarshal(params, &p) != nil {
		return kept.Query{Lines: "0"}, maxSlice, true // which is refused
	}
	if p.First > 0 {
		return kept.Query{Lines: fmt.Sprintf("%d-%d", p.First, max(p.First, p.Last))}, maxSlice, true
	}
	if p.N > 0 && p.N <= maxSlice {
		return kept.Query{Offset: p.From}, p.N, false
	}
	return kept.Query{Offset: p.From}, maxSlice, true
}
