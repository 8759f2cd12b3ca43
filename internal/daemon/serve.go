// Package daemon runs the commands http and stdio: the listener, the router and
// its pages, the control channel, reloading, metrics and the log.
package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/certs"
	"mcp-all-in-one/internal/daemon/console"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcphttp/origin"
	"mcp-all-in-one/internal/sharing"
	"mcp-all-in-one/internal/web"
)

// A front serves an instance over HTTP.
type front struct {
	in       *instance.Instance
	mcp      *mcphttp.Server
	http     httpServer
	console  *web.Handler
	share    *sharing.Server
	control  *controlServer // nil if it could not be opened
	peer     httpServer     // nil if there are no other replicas
	listener net.Listener
	source   *certs.Source // nil for plain HTTP
	failed   chan error    // gets the first error if serving ends by itself
	unguard  func()        // ends guardAccess
}

// An httpServer accepts clients.
type httpServer interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// Bound is an open listener that is not served yet: clients that connect wait.
type Bound struct {
	net.Listener
	host   string
	source *certs.Source // nil for plain HTTP
}

// Bind opens the listener. It comes before the servers start, so that a port
// that is in use starts none, and clients can connect while they start.
func Bind(ctx context.Context, cfg *config.Config, host string, port int, log *slog.Logger) (*Bound, error) {
	source, err := certs.ForHost(cfg, host, log)
	if err != nil {
		return nil, err
	}
	ln, err := http1.Listen(ctx, net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, i18n.Errorf("listening on %s port %d: %w", "监听 %s 端口 %d 失败：%w", host, port, err)
	}
	return &Bound{Listener: ln, host: host, source: source}, nil
}

// Serve serves an instance on a listener. If it fails, it closes the listener.
func Serve(ctx context.Context, in *instance.Instance, a *env.Env, ln *Bound, flags ServeFlags) (f *front, err error) {
	defer func() {
		if err != nil {
			ln.Close()
		}
	}()
	in.Port = ln.Addr().(*net.TCPAddr).Port
	in.URL = address(ln.source, ln.host, in)
	in.Console = !flags.NoUI
	in.Private = flags.Private.Mark
	f = &front{in: in, listener: ln.Listener, source: ln.source, failed: make(chan error, 1)}
	token := rand.Text()
	guard := guardFor(in, ln.host)
	body := func(w http.ResponseWriter, r *http.Request, who string, most int64, full error) io.ReadCloser {
		return f.mcp.Body(w, r, who, most, full)
	}
	if f.console, err = console.New(ctx, in, a, token, named(guard), body); err != nil {
		return nil, err
	}
	in.Guests.Add(f.console.ClientsChanged)
	limits := ServerLimits(&in.Config.Limits)
	limits.Hits, limits.Weights = &in.Hits, &in.Weights
	f.mcp = mcphttp.NewServer(clustered(in, mcphttp.ServerOptions{
		Open:   func(ctx context.Context, o *mcphttp.Opening) (mcphttp.Session, error) { return openSession(ctx, in, o) },
		Limits: limits, Log: in.Log,
		Until: func(ctx context.Context) time.Time { return access.From(ctx).Until() },
	}))
	if f.control, err = openControl(ctx, in, f, token); err != nil {
		in.Log.Warn("commands cannot reach this gateway", "err", err)
	}
	f.share = sharing.New(ctx, in.Access, func(ctx context.Context, r sharing.Request) bool { return instance.Confirm(ctx, in, r) }, gateway.Mark(in.Gateway), in.Log)
	rt := &router{in: in, mcp: f.mcp, guard: guard, joined: f.console, share: f.share}
	if in.Console {
		rt.console = f.console
	}
	if err := f.openPeer(ctx, a, rt, limits); err != nil {
		return nil, err
	}
	f.http = serverFor(mcphttp.HTTPServer(rt, limits, in.Log), f.source)
	f.guardAccess(ctx)
	go f.serve()
	return f, nil
}

// serverFor returns a server for plain HTTP, or for HTTPS if there is a
// certificate. Only plain HTTP uses http1: with encryption its savings do not
// matter.
func serverFor(std *http.Server, source *certs.Source) httpServer {
	if source == nil {
		return http1.NewServer(std)
	}
	std.TLSConfig = source.TLS
	return secureServer{std}
}

type secureServer struct{ *http.Server }

func (s secureServer) Serve(ln net.Listener) error { return s.ServeTLS(ln, "", "") }

// address returns the URL of the gateway. With TLS it uses a name that the
// certificate covers.
func address(source *certs.Source, host string, in *instance.Instance) string {
	if source == nil {
		return "http://" + net.JoinHostPort(shownHost(host), strconv.Itoa(in.Port))
	}
	return "https://" + net.JoinHostPort(source.Host(shownHost(host), in.Config.Server.Names()), strconv.Itoa(in.Port))
}

// shownHost returns a host that a person can use in a URL, which a wildcard
// address is not.
func shownHost(host string) string {
	switch host {
	case "", "0.0.0.0", "::":
		return "127.0.0.1"
	}
	return host
}

func guardFor(in *instance.Instance, host string) *origin.Guard {
	cors := in.Config.Server.CORS
	g := &origin.Guard{Loopback: config.IsLoopback(host), Hosts: in.Config.Server.Names()}
	if shared := in.Config.Access.Share.Host(); shared != "" {
		g.Hosts = append(g.Hosts, shared)
	}
	if in.Cluster != nil {
		g.Refused = func(r *http.Request) { in.HostsRefused.Add(r.Host, r.RemoteAddr) }
	}
	if cors.Enabled {
		g.Origins = cors.Origins
		g.AnyOrigin = cors.AllowAnyOrigin
	}
	return g
}

// named returns the check of the console for hosts that are not of this machine: it
// allows the configured ones alone, whatever the gateway listens on.
func named(g *origin.Guard) func(r *http.Request) bool {
	return func(r *http.Request) bool {
		ok := g.Named(r)
		if !ok && g.Refused != nil {
			g.Refused(r)
		}
		return ok
	}
}

func ServerLimits(l *config.Limits) mcphttp.ServerLimits {
	return mcphttp.ServerLimits{
		Body: l.ClientMessage, InFlight: l.InFlightPerSession, Sessions: l.Sessions,
		QueueMessages: l.OutboundMessages, QueueBytes: int(l.OutboundBytes), SessionIdle: l.SessionIdle,
		PerPrincipal: l.SessionsPerKey, Unfinished: l.Unfinished(), Shares: access.Shares, Scan: scanLimits(l),
		BodyIdle: l.BodyIdle, WriteIdle: l.WriteIdle, KeepAlive: l.KeepAlive, HeaderBytes: int(l.HeaderBytes), ReadHeader: l.ReadHeader,
	}
}

func scanLimits(l *config.Limits) jsonrpc.ScanLimits {
	return jsonrpc.ScanLimits{Depth: l.Depth, IDBytes: l.IDBytes, Batch: l.Batch}
}

// Drain refuses new requests, waits for running ones within the bound, and
// closes the listener. A cancelled ctx means no waiting.
func (f *front) Drain(ctx context.Context) {
	f.in.Draining.Store(true)
	defer f.unguard()
	defer f.share.Close()
	f.retire(ctx)
	f.in.Gateway.Stop()
	bound, cancel := context.WithTimeout(ctx, f.in.Config.Limits.Drain)
	defer cancel()
	f.mcp.Drain(bound)
	f.in.Gateway.Drain()
	f.mcp.Drain(bound) // waits for requests that began before the gateway refused new ones
	if f.in.Cluster != nil {
		f.in.Cluster.Finish(bound)
	}
	f.mcp.Close()
	if f.control != nil {
		f.control.close()
	}
	if err := f.console.Close(); err != nil {
		f.in.Log.Debug("closing the console", "err", err)
	}
	defer f.closePeer(ctx)
	last, stop := context.WithTimeout(ctx, f.lastWait(bound))
	defer stop()
	if f.http.Shutdown(last) == nil {
		return
	}
	if err := f.http.Close(); err != nil {
		f.in.Log.Debug("closing the listener", "err", err)
	}
}

// lastWait returns how long open connections may take to end: the last
// responses may not be sent yet, and other replicas may still have to answer
// requests.
func (f *front) lastWait(bound context.Context) time.Duration {
	end, bounded := bound.Deadline()
	if f.in.Cluster == nil || !bounded {
		return lastAnswers
	}
	return max(lastAnswers, time.Until(end))
}

// lastAnswers is how long connections may take to send the last responses.
const lastAnswers = time.Second

func (f *front) serve() {
	if err := f.http.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
		f.fail(i18n.Errorf("serving: %w", "提供服务失败：%w", err))
	}
}

// fail ends the gateway because of an error. The first one counts.
func (f *front) fail(err error) {
	select {
	case f.failed <- err:
	default:
	}
}
