package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/peer"
)

// clustered makes the sessions known to the other replicas, if there are any.
func clustered(in *instance.Instance, opt mcphttp.ServerOptions) mcphttp.ServerOptions {
	if in.Cluster == nil {
		return opt
	}
	opt.NewID = func(ctx context.Context, s mcphttp.Start) string {
		if _, control := fromControl(ctx); control {
			return "" // such a session is never used through another replica
		}
		return in.Cluster.NewID(ctx, s)
	}
	opt.Elsewhere, opt.Keep = in.Cluster.Elsewhere, in.Cluster.Wanted.Keep
	if in.Config.Limits.SessionsPerKey > 0 { // the default is a share of the sessions of each replica
		opt.Limits.Others, opt.Limits.Count = in.Held.Elsewhere, in.Held.Count
	}
	return opt
}

// openPeer opens the listener for the other replicas.
func (f *front) openPeer(ctx context.Context, a *env.Env, rt *router, limits mcphttp.ServerLimits) error {
	if f.in.Cluster == nil {
		return nil
	}
	var ln net.Listener
	if !f.in.Config.Cluster.Carried() {
		address := f.in.Config.Cluster.Peer
		var err error
		if ln, err = f.in.Cluster.Listen(ctx, address); errors.Is(err, syscall.EADDRINUSE) {
			return inUse(a, i18n.Errorf("address %s of cluster.peer is in use", "cluster.peer 的地址 %s 已被占用", address),
				a.T("stop the other program, or use another port for cluster.peer or --peer", "停止占用端口的程序，或为 cluster.peer 或 --peer 使用其他端口"))
		} else if err != nil {
			return err
		}
	}
	f.peer = f.in.Cluster.Server(f.mcp, limits, rt.servePeer, func(j *peer.Join) { servePlaced(f.in, j) })
	instance.FindMembers(ctx, f.in)
	start := f.in.Background.Go
	start(func() { f.compare(ctx) })
	start(func() { f.in.Cluster.Wanted.CatchUp(ctx) })
	start(func() { f.console.Logins.Follow(ctx, instance.Found(f.in)) })
	start(func() { f.in.Held.Share(ctx, f.in.Cluster.Others.Held) })
	if ln != nil {
		start(func() { f.servePeers(ln) })
	}
	if f.in.Config.Cluster.Agrees() {
		start(func() { f.serveCarried(ctx) })
	}
	return nil
}

// compare ends this replica if its release is too far from that of another one.
func (f *front) compare(ctx context.Context) {
	if err := instance.CheckReleases(ctx, f.in); err != nil {
		f.in.Log.Error("this replica stops", "err", err)
		f.fail(err)
	}
}

// servePeers serves the other replicas until the peer port is closed.
func (f *front) servePeers(ln net.Listener) {
	if err := f.peer.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		f.fail(i18n.Errorf("serving other replicas: %w", "为其他副本提供服务失败：%w", err))
	}
}

// serveCarried serves the other replicas through NATS, as soon as one of them
// needs it.
func (f *front) serveCarried(ctx context.Context) {
	ln, err := instance.ListenCarried(ctx, f.in)
	if err != nil {
		f.in.Log.Error("no connections through NATS", "err", err)
	}
	if ln != nil {
		f.servePeers(ln)
	}
}

// retire tells the balancer and the other replicas that this one is about to
// stop, and serves normally until they have noticed.
func (f *front) retire(ctx context.Context) {
	if f.in.Cluster == nil {
		f.in.Gateway.Drain()
		return
	}
	instance.Retire(f.in)
	select {
	case <-time.After(f.in.Config.Cluster.DrainDelay):
	case <-ctx.Done():
	}
	instance.GiveAway(ctx, f.in)
}

// closePeer stops serving the other replicas after their requests are answered.
func (f *front) closePeer(ctx context.Context) {
	if f.peer == nil {
		return
	}
	instance.LeaveCluster(f.in)
	leave, left := context.WithTimeout(ctx, lastAnswers)
	f.in.Cluster.Leave(leave)
	left()
	ctx, cancel := context.WithTimeout(ctx, lastAnswers)
	defer cancel()
	if err := f.peer.Shutdown(ctx); err != nil {
		// Closing the remaining connections would tell the other replicas that
		// none of their requests was begun.
		f.in.Log.Warn("other replicas still wait for answers", "err", err)
	}
	f.in.Cluster.Close()
}

// servePeer answers a request that arrived at another replica, which has
// authenticated the principal. It serves only the MCP paths, the data for
// consoles, and clients that want access.
func (rt *router) servePeer(w http.ResponseWriter, r *http.Request) {
	path, who := r.URL.EscapedPath(), access.From(r.Context()).ID
	if rest, ok := strings.CutPrefix(path, peer.APIPath); ok {
		rt.joined.ServePeer(w, r, rest)
		return
	}
	if ep, ok := rt.endpoint(path); ok {
		rt.mcp.ServeMCP(w, r, ep, who)
		return
	}
	if ours, _ := rt.share.Serves(path); ours {
		rt.share.ServeHTTP(w, r)
		return
	}
	if strings.HasSuffix(path, "/message") {
		rt.mcp.ServeMessage(w, r, who)
		return
	}
	http.NotFound(w, r)
}
