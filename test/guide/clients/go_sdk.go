//go:build ignore

// The official Go SDK.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	tool, kind, target, args := os.Args[1], os.Args[2], os.Args[3], os.Args[4:]
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: target}
	if kind == "stdio" {
		transport = &mcp.CommandTransport{Command: exec.Command(target, args...)}
	}
	ctx := context.Background()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "guide", Version: "1.0.0"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"message": "hello"}})
	if err != nil {
		log.Fatal(err)
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"tools": names, "text": result.Content[0].(*mcp.TextContent).Text})
}
