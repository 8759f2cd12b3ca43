// Command mcp-all-in-one merges many MCP servers into one, bridges every
// protocol version, and tests any MCP server.
package main

import (
	"context"
	"os"

	"mcp-all-in-one/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), cli.Env{Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
}
