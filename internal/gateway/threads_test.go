package gateway_test

import (
	"runtime"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/traffic"
)

// TestOneThread checks that Go code runs on one thread while a process is called
// once at a time, and on all threads while two calls run, and without calls.
func TestOneThread(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("elsewhere the number of threads stays as it is")
		return
	}
	t.Setenv("GOMAXPROCS", "")
	defer runtime.SetDefaultGOMAXPROCS()
	runtime.SetDefaultGOMAXPROCS()
	usual := runtime.GOMAXPROCS(0)
	pipe := config.NewServer("pipe")
	pipe.Type, pipe.Command, pipe.Args = config.TypeStdio, mcptest.BuildProduct(t), []string{"demo"}
	s := inFrontOfAll(t, traffic.New(traffic.Options{}), pipe)
	call := func(params string) {
		resp, err := s.Handle(t.Context(), nil, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(params)})
		if err != nil || resp.Err != nil {
			t.Errorf("calling: %v, %+v", err, resp)
			return
		}
		resp.Release()
	}
	callUntil := func(threads int) {
		t.Helper()
		for late := time.Now().Add(time.Minute); runtime.GOMAXPROCS(0) != threads; call(`{"name":"pipe__echo","arguments":{"message":"x"}}`) {
			if t.Failed() || time.Now().After(late) {
				t.Fatalf("%d threads, want %d", runtime.GOMAXPROCS(0), threads)
			}
		}
	}
	callUntil(1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		call(`{"name":"pipe__long_task","arguments":{"seconds":2,"steps":1}}`)
	}()
	callUntil(usual)
	<-ended
	callUntil(1)
	for late := time.Now().Add(time.Minute); runtime.GOMAXPROCS(0) != usual; runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatal("one thread still, without calls")
		}
	}
}
