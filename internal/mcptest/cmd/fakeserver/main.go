// Command fakeserver runs the servers of package mcptest as a process, for
// tests that need one.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

type options struct {
	role, era, mode, journal, http, bearer, need string
	tools, bytes, page                           int
	delay                                        time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.role, "role", "demo", "demo, where, time, zhipu, example, hostile, sdk or sleep")
	flag.StringVar(&o.era, "era", "dual", "legacy, modern, dual, or protocol versions with commas")
	flag.StringVar(&o.mode, "mode", "", "what is wrong with a hostile server, with commas")
	flag.StringVar(&o.journal, "journal", "", "file that gets a line per executed token")
	flag.StringVar(&o.http, "http", "", "serve HTTP on this address instead of stdio")
	flag.StringVar(&o.bearer, "bearer", "", "the token that HTTP requests must carry")
	flag.StringVar(&o.need, "need", "", "the environment variable without which it does not start")
	flag.IntVar(&o.tools, "tools", 0, "how many tools the example server generates")
	flag.IntVar(&o.bytes, "bytes", 1<<20, "size of the example server's large resource")
	flag.IntVar(&o.page, "page", 0, "page size of lists")
	flag.DurationVar(&o.delay, "delay", 0, "how long it takes to start")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o); err != nil && !errors.Is(err, mcptest.ErrExit) {
		fmt.Fprintln(os.Stderr, "fakeserver:", err)
		os.Exit(3)
	}
}

func run(ctx context.Context, o *options) error {
	time.Sleep(o.delay)
	if o.need != "" && os.Getenv(o.need) == "" {
		return fmt.Errorf("%s is not set", o.need)
	}
	switch o.role {
	case "sleep":
		mcptest.IgnoreTerm()
		select {}
	case "hostile":
		return hostile(o)
	case "sdk":
		return sdk(ctx)
	}
	server, err := newServer(o)
	if err != nil {
		return err
	}
	if o.http == "" {
		return server.ServeStdio(ctx, os.Stdin, os.Stdout)
	}
	l, err := net.Listen("tcp", o.http)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", l.Addr())
	handler, stop := server.HTTP(o.bearer)
	defer stop()
	hs := &http.Server{Handler: handler}
	context.AfterFunc(ctx, func() { hs.Close() })
	if err := hs.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newServer(o *options) (*mcpserver.Server, error) {
	var server *mcpserver.Server
	switch o.role {
	case "demo":
		server = mcpserver.Demo()
	case "where":
		server = mcptest.WhereServer()
	case "time":
		server = mcptest.TimeServer()
	case "zhipu":
		server = mcptest.ZhipuServer()
	case "example":
		server = mcptest.ExampleServer(o.tools, o.bytes)
	default:
		return nil, fmt.Errorf("unknown role %q", o.role)
	}
	switch o.era {
	case "dual":
	case "legacy":
		server.Versions = mcpserver.LegacyVersions
	case "modern":
		server.Versions = mcpserver.ModernVersions
	default:
		server.Versions = strings.Split(o.era, ",")
	}
	server.PageSize = o.page
	if o.journal != "" {
		server.OnCall = func(_ string, arguments json.RawMessage) {
			var args struct{ Token string }
			_ = json.Unmarshal(arguments, &args) // without a token, no line is written
			if err := mcptest.Note(o.journal, args.Token); err != nil {
				fmt.Fprintln(os.Stderr, "fakeserver:", err)
			}
		}
	}
	return server, nil
}

func hostile(o *options) error {
	h := &mcptest.Hostile{Journal: o.journal, Spawn: spawn}
	if o.mode != "" {
		h.Modes = strings.Split(o.mode, ",")
	}
	if strings.Contains(o.mode, "ignore-term") {
		mcptest.IgnoreTerm()
	}
	return h.Serve(os.Stdin, os.Stdout, os.Stderr)
}

// sdk runs a server of the official SDK. On a pipe it accepts only the era of
// its first message.
func sdk(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	type arguments struct {
		Message string `json:"message"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in arguments) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Message}}}, nil, nil
	})
	return server.Run(ctx, &mcp.StdioTransport{})
}

// spawn starts a process that sleeps until it is killed.
func spawn(own bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-role", "sleep")
	if own {
		mcptest.Detach(cmd)
	}
	return cmd.Start()
}
