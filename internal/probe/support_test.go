package probe

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/stdio"
)

// TestMain lets the test binary run as the helper and as the demo server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__helper":
			os.Exit(stdio.RunHelper(context.Background()))
		case "__demo":
			if mcpserver.Demo().ServeStdio(context.Background(), os.Stdin, os.Stdout) != nil {
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// inMemory returns a server in this process.
func inMemory(t *testing.T, server *mcpserver.Server) Target {
	return Target{Name: "memory", Dial: func(context.Context) (jsonrpc.Stream, func(), error) {
		ours, theirs := duplex.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); server.Serve(ctx, theirs) }()
		return ours, func() { cancel(); <-done }, nil
	}}
}

// overHTTP returns a server behind real HTTP.
func overHTTP(t *testing.T, server *mcpserver.Server, path string) Target {
	handler, end := server.HTTP("")
	front := httptest.NewServer(handler)
	t.Cleanup(func() { end(); front.Close() })
	kind := config.TypeHTTP
	if path == "/sse" {
		kind = config.TypeSSE
	}
	return Target{Name: "http", URL: front.URL + path, Type: kind}
}

// asProcess returns the demo server as a child process.
func asProcess(t *testing.T) (Target, *stdio.Launcher) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := stdio.NewLauncher(stdio.LauncherOptions{Exe: exe})
	t.Cleanup(func() { l.Close() })
	return Target{Name: "demo", Command: exe, Args: []string{"__demo"}, Env: os.Environ()}, l
}

func mustOpen(t *testing.T, target Target, opt Options) *Session {
	t.Helper()
	s, err := Open(t.Context(), target, opt)
	if err != nil {
		t.Fatalf("connecting to %s: %v", target.Name, err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func mustCall(t *testing.T, s *Session, method, params string) *Exchange {
	t.Helper()
	x, err := s.Call(t.Context(), method, json.RawMessage(params), CallOptions{})
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	if x.Err != nil {
		t.Fatalf("%s: %v", method, x.Err)
	}
	return x
}
