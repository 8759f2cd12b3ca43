package modern

import (
	"bytes"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// AsksOldWay reports whether a tool of a modern server failed because it can ask
// only as in the legacy era: with a request to the client on the stream of the call.
// No capability tells this in advance. FastMCP 4 says it in the text of the
// error: "elicitation via server-initiated requests is unavailable on 2026-07-28
// connections."
func AsksOldWay(resp *jsonrpc.Response) bool {
	if resp.Err != nil {
		return saysOldWay(resp.Err.Message)
	}
	if len(resp.Result) > maxRefusal || !bytes.Contains(resp.Result, []byte(oldWay)) || string(jsonrpc.Get(resp.Result, "isError")) != "true" {
		return false
	}
	for block := range jsonrpc.Elements(jsonrpc.Get(resp.Result, "content")) {
		if text, ok := jsonrpc.GetString(block, "text"); ok && saysOldWay(text) {
			return true
		}
	}
	return false
}

const (
	oldWay = "server-initiated requests"
	// maxRefusal is the largest result that is searched for such a refusal.
	maxRefusal = 4 << 10
)

func saysOldWay(text string) bool {
	return strings.Contains(text, oldWay) && (strings.Contains(text, "unavailable") || strings.Contains(text, mcp.LatestModern))
}
