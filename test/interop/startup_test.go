package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	mark3client "github.com/mark3labs/mcp-go/client"
	mark3 "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A start is one connection: the era of the client, and the command of a gateway
// whose server takes its time to start.
type start struct {
	Era     string   `json:"era"`
	Command []string `json:"command"`
}

// A starting is what a client saw of it.
type starting struct {
	Tools       []string
	Text, Error string
}

// A starter connects a published client for each start, all at once, lists, calls
// demo__echo, and lists again.
type starter func(ctx context.Context, t *testing.T, starts []start) []starting

// TestStartUp has published clients of both eras wait for servers of both eras
// that take up to 8 s to start, in parallel. It runs before other tests, because
// some of the clients have their own limits.
func TestStartUp(t *testing.T) {
	product, demo := mcptest.BuildProduct(t), mcptest.Build(t)
	for name, run := range map[string]starter{
		"Python SDK": pythonStart("python"), "FastMCP": pythonStart("fastmcp"), "openai-agents": pythonStart("agents"),
		"TypeScript SDK": typescriptStart, "Go SDK": each(goStart), "mcp-go": each(mark3Start),
	} {
		t.Run("true/1 "+name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var tried []startUp
			var starts []start
			for _, s := range startUps {
				if name == "openai-agents" && s.client == "modern" {
					continue // its SDK chooses the era
				}
				tried, starts = append(tried, s), append(starts, s.start(t, product, demo))
			}
			for i, got := range run(ctx, t, starts) {
				if got.Error != "" || got.Text != "hello" || !slices.Contains(got.Tools, "demo__echo") {
					t.Errorf("%+v: answered %q, lists %q, failed: %s", tried[i], got.Text, got.Tools, got.Error)
				}
			}
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

func (s startUp) start(t *testing.T, product, demo string) start {
	server := entry("sh", "-c", fmt.Sprintf("sleep %d; exec %q -role demo -era %s", s.seconds, demo, s.server))
	return start{s.client, []string{"env", "HOME=" + t.TempDir(), product, "stdio", "--mcp-config", mcptest.WriteConfig(t, config("demo", server))}}
}

// startAll runs a script that makes all connections, so that it loads its packages
// once.
func startAll(t *testing.T, cmd *exec.Cmd, starts []start) (all []starting) {
	input, err := json.Marshal(starts)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &logWriter{t}
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &all) != nil || len(all) != len(starts) {
		t.Fatalf("the client: %v\n%s", err, out)
	}
	return all
}

func pythonStart(kind string) starter {
	return func(ctx context.Context, t *testing.T, starts []start) []starting {
		python := filepath.Join(cache, "python", "bin", "python")
		return startAll(t, exec.CommandContext(ctx, python, filepath.Join("scripts", "startup_client.py"), kind), starts)
	}
}

func typescriptStart(ctx context.Context, t *testing.T, starts []start) []starting {
	return startAll(t, exec.CommandContext(ctx, node(t), script(t, "startup_client.mjs")), starts)
}

// each makes the connections of a client that is written in Go.
func each(connect func(ctx context.Context, version string, command []string) (*starting, error)) starter {
	return func(ctx context.Context, t *testing.T, starts []start) []starting {
		all := make([]starting, len(starts))
		var wg sync.WaitGroup
		for i, s := range starts {
			wg.Go(func() {
				got, err := connect(ctx, map[string]string{"legacy": ours.LatestLegacy, "modern": ours.LatestModern}[s.Era], s.Command)
				if err != nil {
					got = &starting{Error: err.Error()}
				}
				all[i] = *got
			})
		}
		wg.Wait()
		return all
	}
}

func goStart(ctx context.Context, version string, command []string) (*starting, error) {
	cmd := exec.Command(command[0], command[1:]...)
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

func mark3Start(ctx context.Context, version string, command []string) (*starting, error) {
	client, err := mark3client.NewStdioMCPClient(command[0], os.Environ(), command[1:]...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	hello := mark3.InitializeRequest{}
	hello.Params.ProtocolVersion = version
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
