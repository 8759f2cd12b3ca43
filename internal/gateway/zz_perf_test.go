package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream"
)

func BenchmarkZZ(b *testing.B) {
	l := stdio.NewLauncher(stdio.LauncherOptions{Exe: "/tmp/perf-aio"})
	defer l.Close()
	log := slog.New(slog.DiscardHandler)
	cfg, err := config.Load(config.LoadOptions{Path: "/tmp/perf-h/c.json", LookupEnv: os.LookupEnv})
	if err != nil {
		b.Fatal(err)
	}
	g := upstream.NewGreeting()
	set := upstream.NewSet(context.Background(), upstream.Options{Launcher: l, Log: log, Limits: &cfg.Limits, Info: []byte(`{"name":"x","version":"1"}`), Memory: upstream.OpenMemory("/tmp/perf-h/mem.json"), Greeting: g,
		Roots: func() []config.Root { return nil }})
	gw := gateway.New(gateway.Options{Set: set, Log: log, Greeting: g, Info: mcp.Implementation{Name: "x", Version: "1"}})
	set.Apply(cfg, []string{"default"})
	defer set.Close(context.Background())
	r1, w1, _ := os.Pipe()
	r2, w2, _ := os.Pipe()
	s, err := gw.Open(gateway.Opening{Schema: "default", Stdio: true, Session: true, Admin: true})
	if err != nil {
		b.Fatal(err)
	}
	conn := jsonrpc.NewConn(stdio.NewStream(r1, w2, stdio.StreamOptions{}), jsonrpc.ConnOptions{Handler: s, Strict: true, CancelMethod: "notifications/cancelled", Uncancellable: "initialize"})
	rd := bufio.NewReader(r2)
	fmt.Fprintf(w1, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`+"\n")
	rd.ReadString('\n')
	n := 16
	var buf []byte
	round := func(k int) {
		buf = buf[:0]
		for i := range k {
			buf = fmt.Appendf(buf, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"up__fixed-100b","arguments":{"pattern":"fox","limit":10}}}`+"\n", i+1)
		}
		w1.Write(buf)
		for range k {
			_, err := rd.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	round(1)
	round(16)
	b.ReportAllocs()
	b.ResetTimer()
	var before, after syscall.Rusage
	syscall.Getrusage(0, &before)
	for i := 0; i < b.N; i += n {
		round(n)
	}
	b.StopTimer()
	syscall.Getrusage(0, &after)
	d := func(t syscall.Timeval) int64 { return t.Nano() }
	b.ReportMetric(float64(d(after.Utime)+d(after.Stime)-d(before.Utime)-d(before.Stime))/float64(b.N), "cpu-ns/op")
	w1.Close()
	<-conn.Done()
	conn.Close()
}
