package mcptest_test

import (
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest"
)

func TestPipeKeepsTheContract(t *testing.T) {
	mcptest.TestTransport(t, mcptest.StreamDialer(func(*testing.T) (client, server jsonrpc.Stream) {
		return jsonrpc.Pipe()
	}))
}
