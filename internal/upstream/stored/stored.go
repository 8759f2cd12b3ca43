// Package stored is a server whose tools are scripts of the configuration. It
// only lists them: the gateway runs them, on behalf of who calls them.
package stored

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
)

// MetaScript is the member of _meta in which a tool says which script it is.
const MetaScript = "mcp-all-in-one/script"

// Open returns the stream to a server that is scripts; nil for any other.
func Open(s *config.Server) jsonrpc.Stream {
	if s.Type != config.TypeScripts {
		return nil
	}
	ours, theirs := duplex.Pipe()
	duplex.NewConn(theirs, duplex.ConnOptions{Handler: list(s.Scripts)}) // ends with the stream
	return ours
}

// A list answers what a server is asked before it is called.
type list map[string]config.Script

func (l list) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

func (l list) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	switch req.Method {
	case mcp.MethodInitialize:
		return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"scripts","version":%q}}`, mcp.LatestLegacy, mcp.ProductVersion)}, nil
	case mcp.MethodPing:
		return &jsonrpc.Response{Result: []byte(`{}`)}, nil
	case mcp.MethodTasksList: // the gateway has them
		return &jsonrpc.Response{Result: []byte(`{"tasks":[]}`)}, nil
	case mcp.MethodToolsList:
		page := []byte(`{"tools":[`)
		for i, name := range slices.Sorted(maps.Keys(l)) {
			if i > 0 {
				page = append(page, ',')
			}
			page = append(page, definition(name, l[name])...)
		}
		return &jsonrpc.Response{Result: append(page, `]}`...)}, nil
	}
	return nil, jsonrpc.MethodNotFound(req.Method, "scripts are run by the gateway")
}

// definition is a script as a tool.
func definition(name string, s config.Script) []byte {
	schema := []byte(s.Arguments)
	if schema == nil {
		schema = []byte(`{"type":"object","additionalProperties":false}`)
	}
	code := sha256.Sum256([]byte(s.Code))
	return fmt.Appendf(nil, `{"name":%s,"description":%s,"inputSchema":%s,"annotations":{"readOnlyHint":%t},"execution":{"taskSupport":"optional"},"_meta":{%q:{"sha256":%q}}}`,
		jsonrpc.Quote(name), jsonrpc.Quote(s.Description), schema, s.ReadOnly, MetaScript, hex.EncodeToString(code[:]))
}
