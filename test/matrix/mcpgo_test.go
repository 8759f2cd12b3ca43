package matrix

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	mcpgoclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"mcp-all-in-one/internal/mcp"
)

// mcpgoSession is the client of mcp-go.
type mcpgoSession struct {
	*mcpgoclient.Client
	heard atomic.Pointer[func()] // for the running call
}

func (*mcpgoSession) Elicit(context.Context, mcpgo.ElicitationRequest) (*mcpgo.ElicitationResult, error) {
	return &mcpgo.ElicitationResult{ElicitationResponse: mcpgo.ElicitationResponse{
		Action: mcpgo.ElicitationResponseActionAccept, Content: map[string]any{"name": "Ada"},
	}}, nil
}

func (*mcpgoSession) CreateMessage(context.Context, mcpgo.CreateMessageRequest) (*mcpgo.CreateMessageResult, error) {
	return &mcpgo.CreateMessageResult{Model: "m", SamplingMessage: mcpgo.SamplingMessage{
		Role: mcpgo.RoleAssistant, Content: mcpgo.NewTextContent("four"),
	}}, nil
}

func mcpgoCell(t *testing.T, version string, to target, ask string) {
	s := &mcpgoSession{}
	var line transport.Interface
	if to.url != "" {
		http, err := transport.NewStreamableHTTP(to.url)
		if err != nil {
			t.Fatal(err)
		}
		line = http
	} else {
		line = transport.NewStdio(to.command.Path, to.cmd().Env, to.command.Args...)
	}
	s.Client = mcpgoclient.NewClient(line, mcpgoclient.WithProtocolVersion(version), mcpgoclient.WithElicitationHandler(s), mcpgoclient.WithSamplingHandler(s))
	s.OnNotification(func(n mcpgo.JSONRPCNotification) {
		if n.Method == mcp.NotificationProgress {
			(*s.heard.Load())()
		}
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatalf("starting: %v", err)
	}
	defer s.Close()
	var hello mcpgo.InitializeRequest
	hello.Params.ProtocolVersion = version
	hello.Params.ClientInfo = mcpgo.Implementation{Name: "matrix", Version: "1"}
	result, err := s.Initialize(t.Context(), hello)
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	if result.ProtocolVersion != version {
		t.Fatalf("asked for %s, got %s", version, result.ProtocolVersion)
	}
	exercise(t, s, ask)
}

func (s *mcpgoSession) tools(ctx context.Context) (names []string, err error) {
	list, err := s.ListTools(ctx, mcpgo.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s *mcpgoSession) call(ctx context.Context, tool string, arguments map[string]any, heard func()) (string, error) {
	s.heard.Store(&heard)
	var req mcpgo.CallToolRequest
	req.Params.Name, req.Params.Arguments = tool, arguments
	req.Params.Meta = &mcpgo.Meta{ProgressToken: "tok"}
	result, err := s.CallTool(ctx, req)
	if err != nil {
		return "", err
	}
	for _, c := range result.Content {
		if text, ok := c.(mcpgo.TextContent); ok {
			return text.Text, nil
		}
	}
	return "", errors.New("no text")
}

// newMCPGoServer has the tools of a cell. Its questions are results, which the
// library turns into requests for a legacy client.
func newMCPGoServer() *server.MCPServer {
	s := server.NewMCPServer("mcp-go", "1", server.WithToolCapabilities(true), server.WithElicitation())
	s.EnableSampling()
	s.AddTool(mcpgo.NewTool("echo", mcpgo.WithString("message", mcpgo.Required())),
		func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			return mcpgo.NewToolResultText(req.GetString("message", "")), nil
		})
	s.AddTool(mcpgo.NewTool("ask_name"), func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		if answer := server.ElicitationResponse(req.Params.InputResponses, "name"); answer != nil {
			return mcpgo.NewToolResultText(fmt.Sprintf("Hello, %v!", answer.Content)), nil
		}
		return server.NewInputRequestBuilder("").Elicit("name", mcpgo.ElicitationParams{Message: "Who?", RequestedSchema: nameSchema}).ToolResult(), nil
	})
	s.AddTool(mcpgo.NewTool("ask_model", mcpgo.WithString("prompt")), func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		if answer := server.SamplingResponse(req.Params.InputResponses, "model"); answer != nil {
			return mcpgo.NewToolResultText(fmt.Sprint(answer.Content)), nil
		}
		question := mcpgo.SamplingMessage{Role: mcpgo.RoleUser, Content: mcpgo.NewTextContent(req.GetString("prompt", ""))}
		return server.NewInputRequestBuilder("").
			Sample("model", mcpgo.CreateMessageParams{MaxTokens: 10, Messages: []mcpgo.SamplingMessage{question}}).ToolResult(), nil
	})
	s.AddTool(mcpgo.NewTool("long_task", mcpgo.WithNumber("seconds"), mcpgo.WithNumber("steps")), longTask)
	return s
}

func longTask(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
	done, err := work(ctx, req.GetFloat("seconds", 0), req.GetInt("steps", 1), func(step int) {
		server.ServerFromContext(ctx).SendNotificationToClient(ctx, mcp.NotificationProgress,
			map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": step})
	})
	if err != nil {
		return nil, err
	}
	return mcpgo.NewToolResultText(done), nil
}

func serveMCPGo() { server.ServeStdio(newMCPGoServer()) }

func mcpgoEntry(t *testing.T, transport string, _ mcp.Era) string {
	if transport == "stdio" {
		return peerEntry(t, "mcp-go")
	}
	return handlerEntry(t, server.NewStreamableHTTPServer(newMCPGoServer()))
}
