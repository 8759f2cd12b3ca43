package record

import (
	"context"
	"encoding/json"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/probe"
)

// inMemory returns a server in this process.
func inMemory(t *testing.T, server *mcpserver.Server) probe.Target {
	return probe.Target{Name: "memory", Dial: func(context.Context) (jsonrpc.Stream, func(), error) {
		ours, theirs := duplex.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); server.Serve(ctx, theirs) }()
		return ours, func() { cancel(); <-done }, nil
	}}
}

func mustOpen(t *testing.T, target probe.Target, opt probe.Options) *probe.Session {
	t.Helper()
	s, err := probe.Open(t.Context(), target, opt)
	if err != nil {
		t.Fatalf("connecting to %s: %v", target.Name, err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func mustCall(t *testing.T, s *probe.Session, method, params string) {
	t.Helper()
	if _, err := s.Call(t.Context(), method, json.RawMessage(params), probe.CallOptions{}); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}
