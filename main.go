// Command mcp-all-in-one merges many MCP servers into one, bridges every
// protocol version, and tests any MCP server.
package main

import (
	"context"
	"os"

	"mcp-all-in-one/internal/cli"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/sandbox/launcher"
	"mcp-all-in-one/internal/script"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == launcher.Command {
		os.Exit(launcher.Exec())
	}
	if len(os.Args) == 2 && os.Args[1] == script.Command {
		os.Exit(script.RunChild())
	}
	os.Exit(cli.Run(context.Background(), env.Env{Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
}
