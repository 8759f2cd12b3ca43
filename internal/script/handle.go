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

// Slice is the part of a handle's text that a script asks for.
func Slice(params []byte) kept.Query {
	var p struct {
		From        int64
		N           int64
		First, Last int
	}
	if json.Unmarshal(params, &p) != nil {
		return kept.Query{Lines: "0"} // which is refused
	}
	if p.First > 0 {
		return kept.Query{Lines: fmt.Sprintf("%d-%d", p.First, max(p.First, p.Last))}
	}
	return kept.Query{Offset: p.From}
}
