package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcphttp"
)

// A front is an instance that clients reach over HTTP.
type front struct {
	in       *instance
	mcp      *mcphttp.Server
	http     *http.Server
	listener net.Listener
	failed   chan error // serving ended by itself
}

// listen opens the listener first, so that clients find somebody there while
// the servers start.
func (in *instance) listen(ctx context.Context, host string, port int, flags serveFlags) (*front, error) {
	if p := in.cfg.CheckListen(host); p != nil {
		return nil, &config.LoadError{Problems: []config.Problem{*p}}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listening on %s port %d: %w", host, port, err)
	}
	in.port = ln.Addr().(*net.TCPAddr).Port
	in.url = "http://" + net.JoinHostPort(host, strconv.Itoa(in.port))
	limits := serverLimits(&in.cfg.Limits)
	f := &front{in: in, listener: ln, failed: make(chan error, 1)}
	f.mcp = mcphttp.NewServer(mcphttp.ServerOptions{Open: in.open, Limits: limits, Log: in.log})
	rt := &router{in: in, mcp: f.mcp, guard: in.guard(host)}
	f.http = mcphttp.HTTPServer(rt, limits, in.log)
	go f.serve()
	return f, nil
}

func (in *instance) guard(host string) *mcphttp.Guard {
	cors := in.cfg.Server.CORS
	g := &mcphttp.Guard{Loopback: config.IsLoopback(host), Hosts: in.cfg.Server.Hosts}
	if cors.Enabled {
		g.Origins = cors.Origins
		g.AnyOrigin = cors.AllowAnyOrigin
	}
	return g
}

func serverLimits(l *config.Limits) mcphttp.ServerLimits {
	return mcphttp.ServerLimits{
		Body: l.ClientMessage, InFlight: l.InFlightPerSession, Sessions: l.Sessions,
		QueueMessages: l.OutboundMessages, QueueBytes: int(l.OutboundBytes), SessionIdle: l.SessionIdle,
		BodyIdle: l.BodyIdle, WriteIdle: l.WriteIdle, KeepAlive: l.KeepAlive, HeaderBytes: int(l.HeaderBytes), ReadHeader: l.ReadHeader,
	}
}

// drain refuses what is new, lets what is in flight finish within the bound,
// and closes the listener. A cancelled ctx means now.
func (f *front) drain(ctx context.Context) {
	f.in.draining.Store(true)
	f.in.gateway.Stop()
	bound, cancel := context.WithTimeout(ctx, f.in.cfg.Limits.Drain)
	defer cancel()
	f.mcp.Drain(bound)
	f.mcp.Close()
	if err := f.http.Close(); err != nil {
		f.in.log.Debug("closing the listener", "err", err)
	}
}

func (f *front) serve() {
	if err := f.http.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
		f.failed <- fmt.Errorf("serving: %w", err)
	}
}
