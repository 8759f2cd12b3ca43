//lint:file-ignore SA1019 what a version deprecates still has to pass through the gateway

package interop

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A goClient is the official Go client with the questions and notifications it
// got.
type goClient struct {
	*mcp.ClientSession
	asked    chan string
	progress chan float64
	updated  chan string
}

// connectGo opens a session at a protocol version, with all capabilities.
func connectGo(t *testing.T, version string, transport mcp.Transport) *goClient {
	t.Helper()
	c := &goClient{asked: make(chan string, 10), progress: make(chan float64, 100), updated: make(chan string, 100)}
	client := mcp.NewClient(&mcp.Implementation{Name: "go-interop", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			c.asked <- r.Params.Message
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Grace"}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "model", Content: &mcp.TextContent{Text: "yes"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.progress <- r.Params.Progress },
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { c.updated <- r.Params.URI },
	})
	client.AddRoots(&mcp.Root{URI: "file:///go", Name: "go"})
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting at %s: %v", version, err)
	}
	t.Cleanup(func() { session.Close() })
	c.ClientSession = session
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("asked for %s, got %s", version, got)
	}
	return c
}

// call runs a tool and returns its text.
func (c *goClient) call(t *testing.T, name string, arguments map[string]any) (text string, failed bool) {
	t.Helper()
	params := &mcp.CallToolParams{Name: name}
	if arguments != nil {
		params.Arguments = arguments
	}
	params.SetProgressToken("token-of-" + name)
	result, err := c.CallTool(t.Context(), params)
	if err != nil {
		return err.Error(), true
	}
	if len(result.Content) == 0 {
		t.Fatalf("%s: no content", name)
	}
	block, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s: not a text: %T", name, result.Content[0])
	}
	return block.Text, result.IsError
}

func (c *goClient) expect(t *testing.T, name string, arguments map[string]any, want string) bool {
	t.Helper()
	got, failed := c.call(t, name, arguments)
	if failed || got != want {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
	return !failed
}

// exercise tests with one server everything that the two versions allow.
func (c *goClient) exercise(t *testing.T, prefix, version string) {
	t.Helper()
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatalf("tools/list: %v", err)
	}
	if !slices.ContainsFunc(tools.Tools, func(tool *mcp.Tool) bool { return tool.Name == prefix+"echo" }) {
		t.Errorf("echo is not listed")
	}
	c.expect(t, prefix+"echo", map[string]any{"message": "hi"}, "hi")
	c.expect(t, prefix+"ask_model", map[string]any{"prompt": "?"}, "model says: yes")
	c.expect(t, prefix+"show_roots", nil, "1 roots\nfile:///go")
	if c.expect(t, prefix+"long_task", map[string]any{"seconds": 0.05, "steps": 2}, "done after 2 steps") {
		if first := receive(t, c.progress, "progress"); first != 1 {
			t.Errorf("progress begins with %v", first)
		}
	}
	if version >= ours.V2025_06_18 {
		if c.expect(t, prefix+"ask_name", nil, "Hello, Grace!") {
			receive(t, c.asked, "question")
		}
	} else if text, failed := c.call(t, prefix+"ask_name", nil); !failed || len(c.asked) > 0 {
		t.Errorf("a version without elicitation: %q, asked %d times", text, len(c.asked))
	}
	content, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "demo://text/5"})
	if err != nil || content.Contents[0].Text != "This is text number 5." {
		t.Errorf("resources/read: %+v, %v", content, err)
	}
	prompt, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: prefix + "greeting"})
	if err != nil || len(prompt.Messages) != 1 {
		t.Errorf("prompts/get: %+v, %v", prompt, err)
	}
}

// subscribe waits for an update of the clock.
func (c *goClient) subscribe(t *testing.T) {
	t.Helper()
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "demo://clock"}); err != nil {
		t.Fatalf("subscribing: %v", err)
	}
	if uri := receive(t, c.updated, "news of a subscribed resource"); uri != "demo://clock" {
		t.Errorf("news of %s", uri)
	}
}

// receive waits for a value that a handler of the client got.
func receive[T any](t *testing.T, seen <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-seen:
	case <-time.After(15 * time.Second):
		t.Errorf("no %s", what)
	}
	return v
}

// TestEveryPairOfVersions connects the official client at each version to a
// server of each version.
func TestEveryPairOfVersions(t *testing.T) {
	t.Parallel()
	var pairs []string
	versions := slices.Sorted(slices.Values(ours.AllVersions()))
	for _, v := range versions {
		pairs = append(pairs, "s"+v, perSession(demoEntry(t, "-era", v)))
	}
	g := mcptest.Gateway(t, config(pairs...))
	for _, client := range versions {
		for _, server := range versions {
			t.Run(fmt.Sprintf("req/S001-78 client %s server %s", client, server), func(t *testing.T) {
				c := connectGo(t, client, &mcp.StreamableClientTransport{Endpoint: g.URL + "/s/s" + server + "/mcp"})
				c.exercise(t, "", client)
				c.subscribe(t)
			})
		}
	}
}

func TestGoClientTransports(t *testing.T) {
	t.Parallel()
	servers := config("demo", perSession(demoEntry(t)))
	g := mcptest.Gateway(t, servers)
	for _, version := range []string{ours.LatestLegacy, ours.LatestModern} {
		t.Run("http "+version, func(t *testing.T) {
			connectGo(t, version, &mcp.StreamableClientTransport{Endpoint: g.URL + "/mcp"}).exercise(t, "demo__", version)
		})
		t.Run("stdio "+version, func(t *testing.T) {
			cmd := exec.Command(mcptest.BuildProduct(t), "stdio", "--mcp-config", mcptest.WriteConfig(t, servers))
			cmd.Env = append(cmd.Environ(), "HOME="+t.TempDir())
			c := connectGo(t, version, &mcp.CommandTransport{Command: cmd})
			c.exercise(t, "demo__", version)
			c.subscribe(t)
		})
	}
	t.Run("sse", func(t *testing.T) {
		c := connectGo(t, ours.V2024_11_05, &mcp.SSEClientTransport{Endpoint: g.URL + "/sse"})
		c.exercise(t, "demo__", ours.V2024_11_05)
	})
}
