package params

import (
	"net/http"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// HeadersMatch checks the arguments that a tool wants mirrored as headers
// against the headers of a request.
func HeadersMatch(item *catalog.Item, arguments []byte, header http.Header) error {
	for _, p := range catalog.HeaderParams(item) {
		want, present := mcp.HeaderText(arguments, p.Path...)
		got := header.Values(mcp.ParamHeaderPrefix + p.Header)
		if !present && len(got) == 0 {
			continue
		}
		if len(got) != 1 || !present || !sameHeader(got[0], want) {
			return jsonrpc.Errorf(mcp.CodeHeaderMismatch, "header %s does not match argument %s", p.Header, strings.Join(p.Path, "."))
		}
	}
	return nil
}

func sameHeader(header, argument string) bool {
	text, ok := mcp.DecodeHeader(header)
	return ok && text == argument
}
