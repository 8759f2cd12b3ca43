//go:build ignore

// The client of mcp-go.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

func main() {
	tool, kind, target, args := os.Args[1], os.Args[2], os.Args[3], os.Args[4:]
	ctx := context.Background()
	var c *client.Client
	var err error
	if kind == "stdio" {
		c, err = client.NewStdioMCPClient(target, os.Environ(), args...)
	} else if c, err = client.NewStreamableHttpClient(target); err == nil {
		err = c.Start(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion, hello.Params.ClientInfo = mcp.LATEST_PROTOCOL_VERSION, mcp.Implementation{Name: "guide", Version: "1.0.0"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		log.Fatal(err)
	}
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		log.Fatal(err)
	}
	call := mcp.CallToolRequest{}
	call.Params.Name, call.Params.Arguments = tool, map[string]any{"message": "hello"}
	result, err := c.CallTool(ctx, call)
	if err != nil {
		log.Fatal(err)
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"tools": names, "text": result.Content[0].(mcp.TextContent).Text})
}
