package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcp-all-in-one/internal/jsonrpc"
	ours "mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A home is a home folder with a config file, and the gateway over HTTP that runs
// with it. Commands run in it reach that gateway.
type home struct {
	*mcptest.Process
	t    *testing.T
	env  []string
	file string
}

func newHome(t *testing.T, config string) *home {
	t.Helper()
	return &home{t: t, env: append(mcptest.Product(t).Env, "XDG_RUNTIME_DIR=", "MCP_AIO_LANG=en"), file: mcptest.WriteConfig(t, config)}
}

// serve starts the gateway.
func (h *home) serve() {
	h.t.Helper()
	h.Process = mcptest.Start(h.t, mcptest.Program{Path: mcptest.BuildProduct(h.t), Args: []string{"http", "-p", "0", "-c", h.file}, Env: h.env})
	h.Listening()
}

// run runs a command to its end, which has to be 0, and returns its output.
func (h *home) run(stdin string, args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), mcptest.BuildProduct(h.t), append(args, "-c", h.file)...)
	cmd.Env = append(os.Environ(), h.env...)
	cmd.Stdin = strings.NewReader(stdin)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return string(out)
}

// TestSlowServerIsListed lists the tools of a stdio gateway whose published server
// takes its time to start: the memory of the Go SDK sleeps first, FastMCP loads its
// packages.
func TestSlowServerIsListed(t *testing.T) {
	t.Parallel()
	memory, err := buildFrom(goSDK, "examples/server/memory")
	if err != nil {
		t.Fatal(err)
	}
	fast := fastmcp(t)
	for name, s := range map[string]struct {
		entry, tool string
		tools       int
	}{
		"memory of the Go SDK": {entry("sh", "-c", fmt.Sprintf("sleep 3; exec %q", memory)), "s__read_graph", 9},
		"FastMCP":              {entry(fast.Path, fast.Args...), "s__ask_name", 4},
	} {
		file := mcptest.WriteConfig(t, patient(config("s", s.entry)))
		for _, era := range []string{"legacy", "modern"} {
			t.Run("true/1 "+name+", "+era, func(t *testing.T) {
				product := mcptest.BuildProduct(t)
				out, code := runProgram(t, "", product, "list", "tools", "--protocol", era, "--json", "--", product, "stdio", "-c", file)
				if found := strings.Count(out, `"name":"s__`); code != 0 || found != s.tools || !strings.Contains(out, s.tool) {
					t.Errorf("exit %d, %d tools: %s", code, found, out)
				}
			})
		}
	}
}

// TestFirstAnswerHasWhatServersHave: the first answer on stdio declares the tasks of
// server-everything to a legacy client, and the extension of FastMCP to a modern one.
// The servers run already: an answer waits for them 4 s at most.
func TestFirstAnswerHasWhatServersHave(t *testing.T) {
	t.Parallel()
	tasks := mcptest.Start(t, python(t, "fastmcp_tasks_server.py", "http")).Listening() + "/mcp"
	servers := patient(config("everything", fmt.Sprintf(`{"url":%q}`, everythingOverHTTP(t)), "fast", fmt.Sprintf(`{"url":%q}`, tasks)))
	t.Run("true/4 tasks of server-everything", func(t *testing.T) {
		answer := mcptest.GatewayStdio(t, servers).Initialize(ours.LatestLegacy, `{}`)
		if jsonrpc.Get(answer.Result, "capabilities", "tasks", "requests", "tools", "call") == nil {
			t.Errorf("%s", answer.Raw)
		}
	})
	t.Run("true/4 extension of FastMCP", func(t *testing.T) {
		answer := mcptest.GatewayStdio(t, servers).Ask(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
		if jsonrpc.Get(answer.Result, "capabilities", "extensions", ours.TasksExtension) == nil {
			t.Errorf("%s", answer.Raw)
		}
	})
}

// TestRecordOfCalls: the record knows that a tool of a published server has failed,
// and where the time of a call went, on either transport.
func TestRecordOfCalls(t *testing.T) {
	t.Parallel()
	fast := fastmcp(t)
	url := mcptest.Start(t, fastmcp(t, "http")).Listening() + "/mcp"
	h := newHome(t, patient(config("pipe", entry(fast.Path, fast.Args...), "http", fmt.Sprintf(`{"url":%q}`, url),
		"time", entry(uvx(), "mcp-server-time", "--local-timezone=Asia/Shanghai"))))
	h.serve()
	c := connectGo(t, ours.LatestLegacy, &mcp.StreamableClientTransport{Endpoint: h.URL + "/mcp"})
	failed := map[string]map[string]any{"pipe__fail": nil, "http__fail": nil, "time__get_current_time": {"timezone": "Nowhere/At_All"}}
	for tool, arguments := range failed {
		if text, failed := c.call(t, tool, arguments); !failed {
			t.Fatalf("%s answered %s", tool, text)
		}
	}
	for _, server := range []string{"pipe", "http"} {
		c.expect(t, server+"__echo", map[string]any{"message": `"isError":true`}, `"isError":true`)
	}
	connectGo(t, ours.LatestModern, &mcp.StreamableClientTransport{Endpoint: h.URL + "/mcp"}).expect(t, "http__echo", map[string]any{"message": "new"}, "new")
	type call struct {
		Server, Name, Status                  string
		Hop                                   json.RawMessage
		Total, Gateway, Transport, ServerTime time.Duration
		Notes                                 []string
	}
	var calls []call
	for line := range strings.Lines(h.run("", "traffic", "method:tools/call", "--hops", "--json")) {
		var one call
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		calls = append(calls, one)
	}
	for _, one := range calls {
		tool := one.Name
		t.Run(fmt.Sprintf("true/7 %s %s %s", one.Hop, one.Server, tool), func(t *testing.T) {
			want := "tool_error"
			if strings.HasSuffix(tool, "echo") {
				want = "ok"
			}
			if one.Status != want {
				t.Errorf("%+v", one)
			}
		})
		t.Run(fmt.Sprintf("true/2 %s %s %s", one.Hop, one.Server, tool), func(t *testing.T) {
			if one.Server == "http" && len(one.Notes) > 0 {
				t.Errorf("the server was spoken to in the era of the client, and the record says %q", one.Notes)
			}
		})
		t.Run(fmt.Sprintf("true/8 %s %s %s", one.Hop, one.Server, tool), func(t *testing.T) {
			if sum := one.Gateway + one.Transport + one.ServerTime; sum != one.Total || one.ServerTime == 0 {
				t.Errorf("%+v: %v in parts", one, sum)
			}
		})
	}
	if len(calls) < 10 {
		t.Errorf("%d calls are recorded: %+v", len(calls), calls)
	}
}

// TestChineseNames: the tools of a published server keep their names when another
// server with a Chinese name comes and goes.
func TestChineseNames(t *testing.T) {
	t.Parallel()
	weather := entry(uvx(), "mcp-server-time", "--local-timezone=Asia/Shanghai")
	alone := patient(config("天气", weather))
	both := patient(config("地图", entry(node(t), npmServer("server-memory")), "天气", weather))
	h := newHome(t, alone)
	h.serve()
	tools := func() map[string]bool {
		t.Helper()
		c := connectGo(t, ours.LatestLegacy, &mcp.StreamableClientTransport{Endpoint: h.URL + "/mcp"})
		all := make(map[string]bool)
		for _, name := range listed(t, c.ClientSession) {
			all[name] = true
		}
		return all
	}
	first := tools()
	if len(first) != 2 {
		t.Fatalf("it has %v", first)
	}
	for name, content := range map[string]string{"true/9 another comes": both, "true/9 and goes": alone} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(h.file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			h.run("", "reload")
			now := tools()
			for tool := range first {
				if !now[tool] {
					t.Errorf("%s is gone: %v", tool, slices.Sorted(maps.Keys(now)))
				}
			}
			if more := len(now) > len(first); more != (content == both) {
				t.Errorf("it has %v", slices.Sorted(maps.Keys(now)))
			}
		})
	}
}
