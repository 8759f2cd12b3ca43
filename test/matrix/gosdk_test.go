//lint:file-ignore SA1019 what a version deprecates still has to pass through the gateway

package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcp-all-in-one/internal/mcp"
)

// goSession is the official Go client.
type goSession struct {
	*gosdk.ClientSession
	heard atomic.Pointer[func()] // for the running call
}

func goCell(t *testing.T, version string, to target, ask string) {
	s := &goSession{}
	client := gosdk.NewClient(&gosdk.Implementation{Name: "matrix", Version: "1"}, &gosdk.ClientOptions{
		ElicitationHandler: func(context.Context, *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
			return &gosdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		CreateMessageHandler: func(context.Context, *gosdk.CreateMessageRequest) (*gosdk.CreateMessageResult, error) {
			return &gosdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &gosdk.TextContent{Text: "four"}}, nil
		},
		ProgressNotificationHandler: func(context.Context, *gosdk.ProgressNotificationClientRequest) {
			(*s.heard.Load())()
		},
	})
	var transport gosdk.Transport = &gosdk.CommandTransport{Command: to.cmd()}
	if to.url != "" {
		transport = &gosdk.StreamableClientTransport{Endpoint: to.url}
	}
	session, err := client.Connect(t.Context(), transport, &gosdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	defer session.Close()
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("asked for %s, got %s", version, got)
	}
	s.ClientSession = session
	exercise(t, s, ask)
}

func (s *goSession) tools(ctx context.Context) (names []string, err error) {
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s *goSession) call(ctx context.Context, tool string, arguments map[string]any, heard func()) (string, error) {
	s.heard.Store(&heard)
	params := &gosdk.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken("tok")
	result, err := s.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	for _, c := range result.Content {
		if text, ok := c.(*gosdk.TextContent); ok {
			return text.Text, nil
		}
	}
	return "", errors.New("no text")
}

// newGoServer has the tools of a cell. Its questions are results, which the SDK
// turns into requests for a legacy client.
func newGoServer() *gosdk.Server {
	type (
		message struct {
			Message string `json:"message"`
		}
		prompt struct {
			Prompt string `json:"prompt"`
		}
		task struct {
			Seconds float64 `json:"seconds"`
			Steps   int     `json:"steps"`
		}
	)
	text := func(s string) *gosdk.CallToolResult {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: s}}}
	}
	s := gosdk.NewServer(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil)
	gosdk.AddTool(s, &gosdk.Tool{Name: "echo"}, func(_ context.Context, _ *gosdk.CallToolRequest, in message) (*gosdk.CallToolResult, any, error) {
		return text(in.Message), nil, nil
	})
	gosdk.AddTool(s, &gosdk.Tool{Name: "ask_name"}, func(_ context.Context, req *gosdk.CallToolRequest, _ any) (*gosdk.CallToolResult, any, error) {
		if answer, ok := req.Params.InputResponses["name"].(*gosdk.ElicitResult); ok {
			return text(fmt.Sprintf("Hello, %v!", answer.Content["name"])), nil, nil
		}
		return &gosdk.CallToolResult{InputRequests: gosdk.InputRequestMap{"name": &gosdk.ElicitParams{Message: "Who?", RequestedSchema: nameSchema}}}, nil, nil
	})
	gosdk.AddTool(s, &gosdk.Tool{Name: "ask_model"}, func(_ context.Context, req *gosdk.CallToolRequest, in prompt) (*gosdk.CallToolResult, any, error) {
		if answer, ok := req.Params.InputResponses["model"].(*gosdk.CreateMessageWithToolsResult); ok {
			return text(answer.Content[0].(*gosdk.TextContent).Text), nil, nil
		}
		question := &gosdk.SamplingMessage{Role: "user", Content: &gosdk.TextContent{Text: in.Prompt}}
		return &gosdk.CallToolResult{InputRequests: gosdk.InputRequestMap{
			"model": &gosdk.CreateMessageParams{MaxTokens: 10, Messages: []*gosdk.SamplingMessage{question}},
		}}, nil, nil
	})
	gosdk.AddTool(s, &gosdk.Tool{Name: "long_task"}, func(ctx context.Context, req *gosdk.CallToolRequest, in task) (*gosdk.CallToolResult, any, error) {
		done, err := work(ctx, in.Seconds, in.Steps, func(step int) {
			req.Session.NotifyProgress(ctx, &gosdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(step)})
		})
		return text(done), nil, err
	})
	return s
}

// nameSchema is the form that asks for a name.
var nameSchema = map[string]any{
	"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
}

func serveGo() { newGoServer().Run(context.Background(), &gosdk.StdioTransport{}) }

func goEntry(t *testing.T, transport string, era mcp.Era) string {
	if transport == "stdio" {
		return peerEntry(t, "go-sdk")
	}
	server := newGoServer()
	return handlerEntry(t, gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return server },
		&gosdk.StreamableHTTPOptions{Stateless: era == mcp.Modern}))
}
