package test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcphttp/origin"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/tester/record"
)

func MockCommand(a *env.Env) *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:   "mock FILE",
		Short: a.T("run a server that replays a recording, over stdio or HTTP", "运行一个按录制内容应答的服务器（stdio 或 HTTP）"),
		Long: a.T("Answers clients as the server of a recording did, in any protocol version: one client over standard\ninput and output, or with --port any number over HTTP, at /mcp and for older clients at /sse.",
			"按录制中服务器的回答来回答客户端，支持任意协议版本：通过标准输入输出服务一个客户端，\n或用 --port 通过 HTTP 服务任意多个，位于 /mcp，旧客户端为 /sse。"),
		Example: "  mcp-all-in-one list tools -- mcp-all-in-one mock run.mcpcap\n  mcp-all-in-one mock run.mcpcap --port 8080",
		Args:    command.ArgCount(a, 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			capture, err := readCapture(a, args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("port") {
				return serveMockHTTP(cmd.Context(), a, capture, port)
			}
			return serveMock(cmd.Context(), a, capture)
		},
	}
	cmd.Flags().IntVarP(&port, "port", "p", 0, a.T("serve HTTP on this `PORT` of this machine; 0 takes a free one", "在本机端口 `PORT` 提供 HTTP；0 为任意空闲端口"))
	return cmd
}

func serveMock(ctx context.Context, a *env.Env, capture *record.Capture) error {
	conn := duplex.NewConn(plainStream(a), duplex.ConnOptions{
		Handler: record.NewMock(capture), Strict: true, CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
	})
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	<-conn.Done()
	return conn.Err()
}

// serveMockHTTP serves clients on this machine until a signal ends it. All
// clients share one recording: a second identical request, from any client,
// gets the second recorded response.
func serveMockHTTP(ctx context.Context, a *env.Env, capture *record.Capture, port int) error {
	life := instance.NewLifetime(ctx)
	defer life.Stop()
	var lc net.ListenConfig
	ln, err := lc.Listen(life.Soft, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return daemon.ListenError(a, err, "127.0.0.1", port)
	}
	mock := record.NewMock(capture)
	defaults := config.DefaultLimits()
	limits := daemon.ServerLimits(&defaults)
	front := mcphttp.NewServer(mcphttp.ServerOptions{Limits: limits, Log: target.QuietLog(), Open: func(context.Context, *mcphttp.Opening) (mcphttp.Session, error) {
		return &mockSession{Mock: mock}, nil
	}})
	guard, routes := &origin.Guard{Loopback: true}, mcpserver.Routes(front)
	server := mcphttp.HTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if guard.Check(w, r) {
			routes.ServeHTTP(w, r)
		}
	}), limits, target.QuietLog())
	stop := context.AfterFunc(life.Soft, func() {
		front.Close()
		server.Close()
	})
	defer stop()
	fmt.Fprintf(a.Stdout, "http://%s/mcp\n", ln.Addr())
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		front.Close()
		return i18n.Errorf("serving: %w", "提供服务失败：%w", err)
	}
	return nil
}

// A mockSession is a client of a mock over HTTP.
type mockSession struct {
	*record.Mock
	version atomic.Pointer[string]
}

// Handle stores the protocol version of the recorded response.
func (s *mockSession) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	resp, err := s.Mock.Handle(ctx, from, req)
	if err == nil && req.Method == mcp.MethodInitialize && resp.Err == nil {
		if version, ok := jsonrpc.GetString(resp.Result, "protocolVersion"); ok {
			s.version.Store(&version)
		}
	}
	return resp, err
}

// Version returns the negotiated protocol version.
func (s *mockSession) Version() string {
	if v := s.version.Load(); v != nil {
		return *v
	}
	return ""
}

// Close does nothing.
func (s *mockSession) Close() {}
