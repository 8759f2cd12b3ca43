package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mark3client "github.com/mark3labs/mcp-go/client"
	mark3 "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A starting is what a client saw of servers that start slowly.
type starting struct {
	Tools []string
	Text  string
}

// A starter connects a published client to a command on stdio, lists, calls
// demo__echo, and lists again.
type starter func(ctx context.Context, t *testing.T, era, command string, args ...string) (*starting, error)

// TestStartUp has published clients of both eras wait for servers of both eras
// that take up to 8 s to start, in parallel.
func TestStartUp(t *testing.T) {
	product, demo := mcptest.BuildProduct(t), mcptest.Build(t)
	for name, start := range map[string]starter{
		"Python SDK": pythonStart("python"), "FastMCP": pythonStart("fastmcp"), "openai-agents": pythonStart("agents"),
		"TypeScript SDK": typescriptStart, "Go SDK": goStart, "mcp-go": mark3Start,
	} {
		t.Run("true/1 "+name, func(t *testing.T) {
			if name == "Go SDK" || name == "mcp-go" {
				t.Parallel() // these only wait; the others also load their packages, and have their own limits
			}
			var wg sync.WaitGroup
			for _, s := range startUps {
				if name == "openai-agents" && s.client == "modern" {
					continue // its SDK chooses the era
				}
				wg.Go(func() { s.run(t, start, product, demo) })
			}
			wg.Wait()
		})
	}
}

// TestFirstAnswerComesInTime connects a client of each era to a gateway whose server
// does not start. The gateway waits 4 s for it, since a known client waits 5 s.
func TestFirstAnswerComesInTime(t *testing.T) {
	t.Parallel()
	product, file := mcptest.BuildProduct(t), mcptest.WriteConfig(t, config("never", entry("sleep", "600")))
	for era, version := range map[string]string{"legacy": ours.LatestLegacy, "modern": ours.LatestModern} {
		t.Run("true/4 "+era, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second) // less than twice the wait, with time for a busy machine
			defer cancel()
			cmd := exec.Command(product, "stdio", "--mcp-config", file)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
			session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			session.Close()
		})
	}
}

// A startUp is one client with one server that takes seconds to start.
type startUp struct {
	seconds        int
	client, server string // their eras
}

var startUps = []startUp{
	{0, "legacy", "legacy"}, {0, "modern", "modern"}, {3, "legacy", "modern"}, {3, "modern", "legacy"},
	{8, "legacy", "legacy"}, {8, "legacy", "modern"}, {8, "modern", "legacy"}, {8, "modern", "modern"},
}

func (s startUp) run(t *testing.T, start starter, product, demo string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	server := entry("sh", "-c", fmt.Sprintf("sleep %d; exec %q -role demo -era %s", s.seconds, demo, s.server))
	got, err := start(ctx, t, s.client, product, "stdio", "--mcp-config", mcptest.WriteConfig(t, config("demo", server)))
	if err != nil {
		t.Errorf("%+v: %v", s, err)
	} else if got.Text != "hello" || !slices.Contains(got.Tools, "demo__echo") {
		t.Errorf("%+v: answered %q, lists %q", s, got.Text, got.Tools)
	}
}

// reportOf runs a script that prints its report.
func reportOf(cmd *exec.Cmd) (*starting, error) {
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said.String())
	}
	var s starting
	return &s, json.Unmarshal(out, &s)
}

func pythonStart(kind string) starter {
	return func(ctx context.Context, t *testing.T, era, command string, args ...string) (*starting, error) {
		python := filepath.Join(cache, "python", "bin", "python")
		cmd := exec.CommandContext(ctx, python, append([]string{filepath.Join("scripts", "startup_client.py"), kind, era, command}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		return reportOf(cmd)
	}
}

func typescriptStart(ctx context.Context, t *testing.T, era, command string, args ...string) (*starting, error) {
	cmd := exec.CommandContext(ctx, node(t), append([]string{script(t, "startup_client.mjs"), "typescript", era, command}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	return reportOf(cmd)
}

func goStart(ctx context.Context, t *testing.T, era, command string, args ...string) (*starting, error) {
	cmd := exec.Command(command, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	version := map[string]string{"legacy": ours.LatestLegacy, "modern": ours.LatestModern}[era]
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil {
		return nil, err
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "demo__echo", Arguments: map[string]any{"message": "hello"}})
	if err != nil {
		return nil, err
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	s := &starting{Text: result.Content[0].(*mcp.TextContent).Text}
	for _, tool := range list.Tools {
		s.Tools = append(s.Tools, tool.Name)
	}
	return s, nil
}

func mark3Start(ctx context.Context, t *testing.T, era, command string, args ...string) (*starting, error) {
	client, err := mark3client.NewStdioMCPClient(command, append(os.Environ(), "HOME="+t.TempDir()), args...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	hello := mark3.InitializeRequest{}
	hello.Params.ProtocolVersion = map[string]string{"legacy": ours.LatestLegacy, "modern": ours.LatestModern}[era]
	hello.Params.ClientInfo = mark3.Implementation{Name: "mcp-go", Version: "1"}
	if _, err := client.Initialize(ctx, hello); err != nil {
		return nil, err
	}
	if _, err := client.ListTools(ctx, mark3.ListToolsRequest{}); err != nil {
		return nil, err
	}
	call := mark3.CallToolRequest{}
	call.Params.Name, call.Params.Arguments = "demo__echo", map[string]any{"message": "hello"}
	result, err := client.CallTool(ctx, call)
	if err != nil {
		return nil, err
	}
	list, err := client.ListTools(ctx, mark3.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	s := &starting{Text: result.Content[0].(mark3.TextContent).Text}
	for _, tool := range list.Tools {
		s.Tools = append(s.Tools, tool.Name)
	}
	return s, nil
}
