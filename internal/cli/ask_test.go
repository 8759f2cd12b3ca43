package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestNobodyToAsk calls a tool that needs approval on stdio, where there is no
// console to ask. Plain calls of other tools take a fast path; this call must
// not.
func TestNobodyToAsk(t *testing.T) {
	binary := mcptest.BuildProduct(t)
	c := mcptest.GatewayStdio(t, fmt.Sprintf(`{"mcpServers":{"demo":{"command":%q,"args":["demo"],"tools":{"echo":{"ask":true}}}}}`, binary))
	c.Ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	c.Ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	call := func(name, arguments string) string {
		m := c.Ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments))
		if m.Error != nil {
			return m.Error.Message
		}
		return string(m.Result)
	}
	for range 2 {
		if got := call("demo__add", `{"a":1,"b":2}`); !strings.Contains(got, "3") {
			t.Errorf("another tool: %s", got)
		}
		if got := call("demo__echo", `{"message":"secret"}`); !strings.Contains(got, "a person's approval") || strings.Contains(got, "secret") {
			t.Errorf("it ran unasked: %s", got)
		}
	}
}
