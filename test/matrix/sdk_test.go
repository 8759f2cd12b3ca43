package matrix

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// An sdk is a published implementation, as a client of the gateway and as a
// server behind it. Its server has the same tools as our own servers.
type sdk struct {
	name     string
	versions []string // that it speaks
	// client runs a cell in one session.
	client func(t *testing.T, version string, to target, ask string)
	// server returns the config entry of its server, over stdio or HTTP,
	// without the version.
	server func(t *testing.T, transport string, era mcp.Era) string
	// quick is set if it needs only Go, so that make check runs it.
	quick bool
}

var sdks = []sdk{
	{name: "go-sdk", versions: mcp.AllVersions(), client: goCell, server: goEntry, quick: true},
	{name: "mcp-go", versions: mcp.AllVersions(), client: mcpgoCell, server: mcpgoEntry, quick: true},
	{name: "typescript", versions: mcp.Versions(mcp.Legacy), client: scriptCell, server: scriptEntry},
}

// A target is the gateway that a client connects to: a URL, or a command.
type target struct {
	url     string
	command mcptest.Program
}

func (to target) cmd() *exec.Cmd {
	cmd := exec.Command(to.command.Path, to.command.Args...)
	cmd.Env = append(os.Environ(), to.command.Env...)
	return cmd
}

// peerVariable makes the test program a server of the named SDK on stdio.
const peerVariable = "MATRIX_PEER"

func TestMain(m *testing.M) {
	switch os.Getenv(peerVariable) {
	case "go-sdk":
		serveGo()
	case "mcp-go":
		serveMCPGo()
	default:
		os.Exit(m.Run())
	}
}

// peerEntry returns the entry of the test program as a server.
func peerEntry(t *testing.T, name string) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"command":%q,"env":{%q:%q}`, self, peerVariable, name)
}

// handlerEntry returns the entry of a server of an SDK over HTTP, in this
// process.
func handlerEntry(t *testing.T, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections() // open streams would block Close
		s.Close()
	})
	return fmt.Sprintf(`{"type":"http","url":%q`, s.URL+"/mcp")
}

// speaking completes an entry: the gateway speaks one version to the server.
func speaking(entry, version string) string {
	return fmt.Sprintf(`{"mcpServers":{"demo":%s,"protocol":%q}}}`, entry, version)
}

// TestSDKClients connects the published clients to our own servers.
func TestSDKClients(t *testing.T) {
	wanted := func(server, back string) bool { return full() || small(server, server, back, "http", "http") }
	eachServer(t, wanted, func(t *testing.T, server, config, url string) {
		for _, s := range sdks {
			for _, version := range s.versions {
				for _, front := range transports {
					if !full() && !(s.quick && small(version, server, "http", front, "http")) {
						continue
					}
					t.Run(fmt.Sprintf("client %s %s over %s", s.name, version, front), func(t *testing.T) {
						to := target{url: url}
						if front == "stdio" {
							to = target{command: mcptest.Product(t, "stdio", "--mcp-config", mcptest.WriteConfig(t, config))}
						}
						s.client(t, version, to, asking(version, server))
					})
				}
			}
		}
	})
}

// TestSDKServers connects our own clients to the published servers.
func TestSDKServers(t *testing.T) {
	for _, s := range sdks {
		for _, server := range s.versions {
			for _, back := range transports {
				if !full() && !(s.quick && small(server, server, back, "http", "stdio")) {
					continue
				}
				t.Run(fmt.Sprintf("server %s %s over %s", s.name, server, back), func(t *testing.T) {
					t.Parallel()
					config := speaking(s.server(t, back, mcp.Rules(server).Era), server)
					url := mcptest.Gateway(t, config, "--log-level", "debug").URL + "/mcp"
					for _, date := range mcp.AllVersions() {
						for _, front := range transports {
							if !full() && !small(date, server, back, front, "stdio") {
								continue
							}
							t.Run(fmt.Sprintf("client %s over %s", date, front), func(t *testing.T) {
								cell(t, newClient(t, date, front, url, config), server)
							})
						}
					}
				})
			}
		}
	}
}

func full() bool { return os.Getenv("MATRIX") == "full" }

// small reports whether a cell belongs to every run: the newest version of each
// era with itself, over HTTP in front of one transport.
func small(client, server, back, front, only string) bool {
	return client == server && (client == mcp.LatestLegacy || client == mcp.LatestModern) && front == "http" && back == only
}

// asking returns the tool whose question both versions support.
func asking(client, server string) string {
	if mcp.Rules(client).Elicitation && mcp.Rules(server).Elicitation {
		return "ask_name"
	}
	return "ask_model"
}

// A session is one connection of a published client for Go.
type session interface {
	tools(ctx context.Context) ([]string, error)
	// call returns the text of a result. heard is called for progress.
	call(ctx context.Context, tool string, arguments map[string]any, heard func()) (string, error)
}

// exercise tests a published client like the raw ones.
func exercise(t *testing.T, s session, ask string) {
	ctx, stop := context.WithTimeout(t.Context(), 4*patience)
	defer stop()
	names, err := s.tools(ctx)
	if err != nil || !slices.Contains(names, "demo__echo") {
		t.Fatalf("tools/list: %q, %v", names, err)
	}
	expect := func(want, tool string, arguments map[string]any, heard func()) {
		t.Helper()
		if text, err := s.call(ctx, "demo__"+tool, arguments, heard); err != nil || !strings.Contains(text, want) {
			t.Fatalf("%s: %q, %v; want %q", tool, text, err, want)
		}
	}
	quiet := func() {}
	expect("hello", "echo", map[string]any{"message": "hello"}, quiet)
	if ask == "ask_name" {
		expect("Ada", ask, map[string]any{}, quiet)
	} else {
		expect("four", ask, map[string]any{"prompt": "2+2"}, quiet)
	}
	heard := make(chan struct{}, 100)
	expect("done after 3 steps", "long_task", map[string]any{"seconds": 0.1, "steps": 3}, func() { heard <- struct{}{} })
	select {
	case <-heard:
	case <-time.After(patience):
		t.Fatal("no progress")
	}
	calling, cancel := context.WithCancel(ctx)
	if text, err := s.call(calling, "demo__long_task", map[string]any{"seconds": 60, "steps": 600}, cancel); err == nil {
		t.Fatalf("a cancelled call answered %q", text)
	}
	cancel()
	expect("still here", "echo", map[string]any{"message": "still here"}, quiet)
}

// work implements the long_task of a published server.
func work(ctx context.Context, seconds float64, steps int, report func(step int)) (string, error) {
	for i := 1; i <= steps; i++ {
		select {
		case <-time.After(time.Duration(seconds / float64(steps) * float64(time.Second))):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		report(i)
	}
	return fmt.Sprintf("done after %d steps", steps), nil
}
