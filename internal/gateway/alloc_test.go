package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"path/filepath"
	"runtime"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/servers"
	"mcp-all-in-one/internal/usage"
)

// memoryServer answers in memory, so that only our own allocations are counted.
type memoryServer struct{ result string }

func (m memoryServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return &http.Response{StatusCode: http.StatusMethodNotAllowed, Body: http.NoBody, Header: http.Header{}}, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	method, _ := jsonrpc.GetString(body, "method")
	id := jsonrpc.Get(body, "id")
	result := m.result
	switch {
	case id == nil:
		return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Header: http.Header{}}, nil
	case method == mcp.MethodInitialize:
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"memory","version":"1"}}`
	case method == mcp.MethodToolsList:
		result = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`
	}
	answer := fmt.Appendf(make([]byte, 0, len(result)+64), `{"jsonrpc":"2.0","id":%s,"result":`, id)
	answer = append(append(answer, result...), '}')
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: int64(len(answer)), Body: io.NopCloser(bytes.NewReader(answer)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}

// memorySession returns a session in front of one server in memory.
func memorySession(tb testing.TB, result string) *gateway.Session {
	tb.Helper()
	return watchedSession(tb, result, gateway.Options{})
}

// watchedSession returns a session whose calls are recorded.
func watchedSession(tb testing.TB, result string, opt gateway.Options) *gateway.Session {
	tb.Helper()
	gw, _ := inFrontOf(tb, "http://127.0.0.1:1/mcp", memoryServer{result}, opt)
	s, err := gw.Open(gateway.Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Session: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// inFrontOf returns a gateway in front of one server over HTTP.
func inFrontOf(tb testing.TB, url string, transport http.RoundTripper, opt gateway.Options) (*gateway.Gateway, *servers.Set) {
	tb.Helper()
	server := config.NewServer("up")
	server.Schema, server.Type, server.URL = config.DefaultSchema, config.TypeHTTP, url
	schema := config.NewSchema(config.DefaultSchema)
	schema.Servers = append(schema.Servers, server)
	cfg := &config.Config{Schemas: []*config.Schema{schema}, Limits: config.DefaultLimits(), Compat: "auto"}
	log := slog.New(slog.DiscardHandler)
	set := servers.NewSet(tb.Context(), upstream.Options{
		Transport: transport, Log: log, Limits: &cfg.Limits, Info: []byte(`{"name":"test","version":"1"}`),
		Roots: func() []config.Root { return nil }, Memory: memory.Open(filepath.Join(tb.TempDir(), "servers.json")),
	})
	opt.Set, opt.Log, opt.Info = set, log, mcp.Implementation{Name: "test", Version: "1"}
	gw := gateway.New(opt)
	set.Apply(cfg, nil)
	tb.Cleanup(func() {
		gw.Close()
		set.Close(context.WithoutCancel(tb.Context()))
	})
	return gw, set
}

var callEcho = &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"up__echo","arguments":{"text":"hello"}}`)}

func call(tb testing.TB, s *gateway.Session) {
	resp, err := s.Handle(tb.Context(), nil, callEcho)
	if err != nil || resp.Err != nil {
		tb.Fatalf("calling: %v, %+v", err, resp)
	}
	resp.Release()
}

const smallResult = `{"content":[{"type":"text","text":"hello"}]}`

// TestAllocations bounds the allocations of one call between the two
// transports, including the client of the server's transport and the server in
// memory. The record adds a context value, a stopwatch and the way back to the
// client; the race detector empties pools.
func TestAllocations(t *testing.T) {
	for name, tt := range map[string]struct {
		opt   gateway.Options
		limit float64
	}{
		"unrecorded": {gateway.Options{}, maxAllocations},
		"recorded":   {gateway.Options{Traffic: traffic.New(traffic.Options{})}, maxAllocations + 7},
		"on stdio":   {gateway.Options{Usage: counting(t)}, maxAllocations},
		"counted":    {gateway.Options{Traffic: traffic.New(traffic.Options{}), Usage: counting(t)}, maxAllocations + 7},
	} {
		t.Run(name, func(t *testing.T) {
			s := watchedSession(t, smallResult, tt.opt)
			call(t, s)
			// What earlier tests left running allocates too, but not all the time.
			least := math.Inf(1)
			for range 10 {
				least = min(least, testing.AllocsPerRun(20, func() { call(t, s) }))
			}
			if least > tt.limit {
				t.Errorf("a call makes %.0f allocations, more than %.0f", least, tt.limit)
			}
		})
	}
}

// maxAllocations is the measured value plus a small margin.
const maxAllocations = 38

// TestLargeAnswerIsNotCopied bounds the bytes, so that an answer is never
// copied on its way through.
func TestLargeAnswerIsNotCopied(t *testing.T) {
	large := `{"content":[{"type":"text","text":"` + string(bytes.Repeat([]byte("x"), 1<<20)) + `"}]}`
	s := memorySession(t, large)
	call(t, s)
	// The server in memory makes one copy itself. Pooled buffers may be lost to
	// a garbage collection, but not each time. A copy of ours would add two
	// halves of a megabyte.
	least := uint64(1 << 40)
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		call(t, s)
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > copies<<19 {
		t.Errorf("a call with an answer of 1 MiB allocates %d bytes", least)
	}
}

func BenchmarkDispatch(b *testing.B) {
	s := memorySession(b, smallResult)
	call(b, s)
	b.ReportAllocs()
	for b.Loop() {
		call(b, s)
	}
}

// counting returns a usage book that counts.
func counting(tb testing.TB) *usage.Book {
	book := usage.Open(usage.Options{Dir: tb.TempDir(), Log: slog.New(slog.DiscardHandler)})
	book.Use(true, 30)
	tb.Cleanup(book.Close)
	return book
}

// BenchmarkCountedDispatch runs without a traffic record, as on stdio.
func BenchmarkCountedDispatch(b *testing.B) {
	s := watchedSession(b, smallResult, gateway.Options{Usage: counting(b)})
	call(b, s)
	b.ReportAllocs()
	for b.Loop() {
		call(b, s)
	}
}

func BenchmarkRecordedDispatch(b *testing.B) {
	s := watchedSession(b, smallResult, gateway.Options{Traffic: traffic.New(traffic.Options{})})
	call(b, s)
	b.ReportAllocs()
	for b.Loop() {
		call(b, s)
	}
}
