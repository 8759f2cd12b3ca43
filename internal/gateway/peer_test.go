package gateway

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
)

// TestPeerInfo checks that another replica gets the info of the server itself,
// and a client gets that of the gateway.
func TestPeerInfo(t *testing.T) {
	r := newRaw(t, `{"tools":{}}`, map[string]string{mcp.MethodToolsList: `{"tools":[]}`})
	g := newGateway(t, map[string]string{"raw": r.URL}, nil)
	for name, peer := range map[string]bool{"raw": true, "mcp-all-in-one": false} {
		t.Run("cluster/place/info/"+name, func(t *testing.T) {
			s := opened(t, g, Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Server: "raw", Session: true, Client: nobody{}, Peer: peer})
			got := ask(t, s, mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
			if !strings.Contains(got, `"serverInfo":{"name":"`+name+`"`) {
				t.Errorf("initialize: %s", got)
			}
		})
	}
}
