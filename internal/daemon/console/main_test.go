package console

import (
	"context"
	"fmt"
	"os"
	"testing"

	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/stdio"
)

// TestMain lets the test binary act as the helper and the demo server of a
// gateway that a test runs in its own process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__helper" {
		os.Exit(stdio.RunHelper(context.Background()))
	}
	if len(os.Args) > 1 && os.Args[1] == "demo" {
		if err := mcpserver.Demo().ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
