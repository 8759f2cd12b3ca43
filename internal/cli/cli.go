// Package cli is the command line: one file per command, and the only place
// that wires the parts together.
package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/stdio"
)

// Env is the world around the program.
type Env struct {
	Args   []string // with the program's name first
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Run runs the program and returns its exit code.
func Run(ctx context.Context, env Env) int {
	args := env.Args[1:]
	if len(args) == 0 {
		return 0
	}
	switch args[0] {
	case "__helper":
		return stdio.RunHelper(ctx)
	case "demo":
		if err := mcptest.Demo().ServeStdio(ctx, env.Stdin, env.Stdout); err != nil {
			fmt.Fprintln(env.Stderr, err)
			return 1
		}
		return 0
	case "http", "stdio":
		path := ""
		port := 3095
		for i := 1; i+1 < len(args); i++ {
			if args[i] == "--mcp-config" {
				path = args[i+1]
			}
			if args[i] == "--port" {
				fmt.Sscan(args[i+1], &port)
			}
		}
		return serve(ctx, env, args[0], path, port)
	}
	return 2
}

func serve(ctx context.Context, env Env, mode, path string, port int) int {
	cfg, err := config.Load(config.LoadOptions{Path: path, Create: path == ""})
	if err != nil {
		fmt.Fprintln(env.Stderr, err)
		return 2
	}
	level := new(slog.LevelVar)
	if os.Getenv("MCP_LOG_LEVEL") == "debug" {
		level.Set(slog.LevelDebug)
	}
	log := slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := instanceOptions{cfg: cfg, log: log, level: level, name: "mcp-all-in-one"}
	if mode == "stdio" {
		return serveStdio(ctx, env, o)
	}
	in, err := newInstance(context.WithoutCancel(ctx), o)
	if err != nil {
		fmt.Fprintln(env.Stderr, err)
		return 1
	}
	f, err := in.listen(ctx, "127.0.0.1", port)
	if err != nil {
		fmt.Fprintln(env.Stderr, err)
		return 1
	}
	fmt.Fprintf(env.Stdout, "endpoint %s/mcp\nconsole  %s/ui/\n", in.url, in.url)
	<-ctx.Done()
	f.drain(context.WithoutCancel(ctx))
	in.close(context.WithoutCancel(ctx))
	return 0
}

func serveStdio(ctx context.Context, env Env, o instanceOptions) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.schema = "default"
	o.exit = cancel
	in, err := newInstance(context.WithoutCancel(ctx), o)
	if err != nil {
		fmt.Fprintln(env.Stderr, err)
		return 1
	}
	peer := &latePeer{}
	s, err := in.gateway.Open(gateway.Opening{Schema: o.schema, Stdio: true, Session: true, Client: peer, Admin: true})
	if err != nil {
		fmt.Fprintln(env.Stderr, err)
		return 1
	}
	stream := stdio.NewStream(env.Stdin, env.Stdout, stdio.StreamOptions{MaxLine: o.cfg.Limits.ClientMessage})
	conn := jsonrpc.NewConn(stream, jsonrpc.ConnOptions{
		Handler: s, Strict: true, MaxInFlight: o.cfg.Limits.InFlightPerSession,
		Batch:        func() bool { v := s.Version(); return v == "" || mcp.Rules(v).Batch },
		CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
		OnDropped: func(reason string, head []byte) { o.log.Debug("dropped", "reason", reason) },
	})
	peer.set(conn)
	select {
	case <-conn.Done():
	case <-ctx.Done():
	}
	conn.Close()
	s.Close()
	in.close(context.WithoutCancel(ctx))
	return 0
}

// latePeer is a peer that is known only after the session that uses it.
type latePeer struct{ conn *jsonrpc.Conn }

func (p *latePeer) set(c *jsonrpc.Conn) { p.conn = c }

func (p *latePeer) Call(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return p.conn.Call(ctx, req)
}

func (p *latePeer) Notify(ctx context.Context, n *jsonrpc.Notification) error {
	return p.conn.Notify(ctx, n)
}
