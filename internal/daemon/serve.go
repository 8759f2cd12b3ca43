// Package daemon is what runs while http or stdio serves: the listener, the
// router and its pages, the control channel, reloading, metrics and the log.
package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/console"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/web"
)

// A front is an instance that clients reach over HTTP.
type front struct {
	in       *instance.Instance
	mcp      *mcphttp.Server
	http     *http1.Server
	console  *web.Handler
	control  *controlServer // nil when it could not be opened
	listener net.Listener
	failed   chan error // serving ended by itself
}

// ListenOn opens the listener first, so that clients find somebody there while
// the servers start.
func ListenOn(ctx context.Context, in *instance.Instance, a *env.Env, host string, port int, flags ServeFlags) (*front, error) {
	if p := in.Config.CheckListen(host); p != nil {
		return nil, &config.LoadError{Problems: []config.Problem{*p}}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, i18n.Errorf("listening on %s port %d: %w", "监听 %s 端口 %d 失败：%w", host, port, err)
	}
	in.Port = ln.Addr().(*net.TCPAddr).Port
	in.URL = "http://" + net.JoinHostPort(shownHost(host), strconv.Itoa(in.Port))
	in.Console = !flags.NoUI
	f := &front{in: in, listener: ln, failed: make(chan error, 1)}
	token := rand.Text()
	if f.console, err = console.New(ctx, in, a, token); err != nil {
		ln.Close()
		return nil, err
	}
	in.Guests.Add(f.console.ClientsChanged)
	limits := ServerLimits(&in.Config.Limits)
	limits.Hits = &in.Hits
	f.mcp = mcphttp.NewServer(mcphttp.ServerOptions{Open: func(ctx context.Context, o *mcphttp.Opening) (mcphttp.Session, error) { return openSession(ctx, in, o) }, Limits: limits, Log: in.Log})
	if f.control, err = openControl(ctx, in, f, token); err != nil {
		in.Log.Warn("commands cannot reach this gateway", "err", err)
	}
	rt := &router{in: in, mcp: f.mcp, guard: guardFor(in, host)}
	if in.Console {
		rt.console = f.console
	}
	f.http = http1.NewServer(mcphttp.HTTPServer(rt, limits, in.Log))
	f.guardKeys(ctx)
	go f.serve()
	return f, nil
}

// shownHost is a host that a person can use: that of all interfaces is not
// one.
func shownHost(host string) string {
	switch host {
	case "", "0.0.0.0", "::":
		return "127.0.0.1"
	}
	return host
}

func guardFor(in *instance.Instance, host string) *mcphttp.Guard {
	cors := in.Config.Server.CORS
	g := &mcphttp.Guard{Loopback: config.IsLoopback(host), Hosts: in.Config.Server.Hosts}
	if cors.Enabled {
		g.Origins = cors.Origins
		g.AnyOrigin = cors.AllowAnyOrigin
	}
	return g
}

func ServerLimits(l *config.Limits) mcphttp.ServerLimits {
	return mcphttp.ServerLimits{
		Body: l.ClientMessage, InFlight: l.InFlightPerSession, Sessions: l.Sessions,
		QueueMessages: l.OutboundMessages, QueueBytes: int(l.OutboundBytes), SessionIdle: l.SessionIdle,
		PerPrincipal: l.SessionsPerKey, Unfinished: l.UnfinishedPerKey, Shares: access.Shares, Scan: scanLimits(l),
		BodyIdle: l.BodyIdle, WriteIdle: l.WriteIdle, KeepAlive: l.KeepAlive, HeaderBytes: int(l.HeaderBytes), ReadHeader: l.ReadHeader,
	}
}

func scanLimits(l *config.Limits) jsonrpc.ScanLimits {
	return jsonrpc.ScanLimits{Depth: l.Depth, IDBytes: l.IDBytes, Batch: l.Batch}
}

// Drain refuses what is new, lets what is in flight finish within the bound,
// and closes the listener. A cancelled ctx means now.
func (f *front) Drain(ctx context.Context) {
	f.in.Draining.Store(true)
	f.in.Gateway.Drain()
	f.in.Gateway.Stop()
	bound, cancel := context.WithTimeout(ctx, f.in.Config.Limits.Drain)
	defer cancel()
	f.mcp.Drain(bound)
	f.mcp.Close()
	if f.control != nil {
		f.control.close()
	}
	if err := f.console.Close(); err != nil {
		f.in.Log.Debug("closing the console", "err", err)
	}
	// The last answers are written, but perhaps not sent yet.
	last, stop := context.WithTimeout(ctx, lastAnswers)
	defer stop()
	if f.http.Shutdown(last) == nil {
		return
	}
	if err := f.http.Close(); err != nil {
		f.in.Log.Debug("closing the listener", "err", err)
	}
}

// lastAnswers is how long connections may take to carry what was answered.
const lastAnswers = time.Second

func (f *front) serve() {
	if err := f.http.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
		f.failed <- i18n.Errorf("serving: %w", "提供服务失败：%w", err)
	}
}
