package script

import (
	"cmp"
	"encoding/json"
	"fmt"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
)

// handleMark begins a value that is only a handle. The mark of the run, which
// no server can guess, then replaces it.
const handleMark = `"result://":true`

// Handle returns what a script gets instead of a value that is too large.
func Handle(uri string, size int, shape string) []byte {
	return fmt.Appendf(nil, `{%s,"uri":%s,"size":%d,"shape":%s}`, handleMark, jsonrpc.Quote(uri), size, jsonrpc.Quote(shape))
}

// maxSlice is the maximum size of a part of a handle's text.
const maxSlice = MaxValue / 2

// Slice returns the part of a handle's text that a script requests, and how
// much of it may be returned. all means that the part must be complete.
func Slice(params []byte) (q kept.Query, limit int64, all bool) {
	var p struct {
		From, N     int64
		First, Last *int
	}
	if json.Unmarshal(params, &p) != nil {
		return kept.Query{Lines: "0"}, maxSlice, true // this query is refused
	}
	if p.First != nil {
		return kept.Query{Lines: fmt.Sprintf("%d-%d", *p.First, *cmp.Or(p.Last, p.First))}, maxSlice, true
	}
	if p.N > 0 && p.N <= maxSlice {
		return kept.Query{Offset: p.From}, p.N, false
	}
	return kept.Query{Offset: p.From}, maxSlice, true
}
