package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// A server that ignores the case of member names runs the tool that we allowed,
// not a denied one that was smuggled in another member.
func TestSmuggledNames(t *testing.T) {
	t.Parallel()
	gw := mcptest.Gateway(t, fmt.Sprintf(`{"mcpServers":{"d":{"command":%q,"args":["demo"],"deny":["add"]}}}`, mcptest.BuildProduct(t)))
	c := mcptest.NewRawHTTP(t, gw.URL+"/mcp")
	for _, params := range []string{
		`{"name":"d__echo","Name":"add","arguments":{"message":"hello","a":1,"b":2}}`,
		`{"Name":"add","name":"d__echo","arguments":{"message":"hello","a":1,"b":2}}`,
		`{"name":"d__echo","arguments":{"message":"hello"},"Arguments":{"message":"evil"}}`,
		`{"name":"d__echo","NAME":"add","arguments":{"message":"hello","a":1,"b":2}}`,
	} {
		if got := string(c.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`).Body); !strings.Contains(got, "hello") || strings.Contains(got, "sum") {
			t.Errorf("corpus/J55: %s: %s", params, got)
		}
	}
}
