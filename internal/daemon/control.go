package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/web"
	"mcp-all-in-one/internal/web/api"
)

// A controlServer is the local channel to a running gateway: a socket that only
// programs of the same user can open. It has the rights of that user.
type controlServer struct {
	path string
	http *http.Server
	done chan struct{}
}

// openControl opens the control channel of an instance. It adds token to every
// request to the console.
func openControl(ctx context.Context, in *instance.Instance, f *front, token string) (*controlServer, error) {
	dir := control.Dir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// The directory mode restricts who can open the socket.
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, err
	}
	c := &controlServer{path: filepath.Join(dir, strconv.Itoa(os.Getpid())+".sock"), done: make(chan struct{})}
	ln, err := listenAt(ctx, c.path, strings.TrimSuffix(c.path, ".sock")+".new")
	if err != nil {
		return nil, err
	}
	c.http = &http.Server{Handler: controlHandler(in, f, token), ReadHeaderTimeout: in.Config.Limits.ReadHeader}
	go func() {
		defer close(c.done)
		if err := c.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			in.Log.Warn("control channel", "err", err)
		}
	}()
	return c, nil
}

// listenAt creates a socket as first and renames it to path when it listens,
// because other processes remove a socket on which no process listens.
func listenAt(ctx context.Context, path, first string) (net.Listener, error) {
	if err := os.Remove(first); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "unix", first)
	if err != nil {
		return nil, err
	}
	if err = os.Chmod(first, 0o600); err == nil {
		err = os.Rename(first, path)
	}
	if err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

var errAlone = i18n.Errorf("this gateway is not part of a cluster: its config file has no section cluster; see docs/cluster.md", "此网关不属于集群：配置文件没有 cluster 一节；见 docs/cluster.md")

func controlHandler(in *instance.Instance, f *front, token string) http.Handler {
	mux, console := http.NewServeMux(), f.console
	controlMCP(in, mux, f.mcp)
	mux.HandleFunc("GET /local", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, control.Info{PID: os.Getpid(), Name: in.Name, Config: in.Config.Path, URL: in.URL, Console: in.Console, Private: in.Private})
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, in.StatusPage(access.Owner)) })
	mux.HandleFunc("GET /cluster", func(w http.ResponseWriter, r *http.Request) {
		if in.Cluster == nil {
			refuseControl(w, r, http.StatusNotFound, i18n.Why(errAlone))
			return
		}
		s := instance.ClusterStatus(r.Context(), in)
		if r.URL.Query().Has("check") {
			instance.CheckCluster(r.Context(), in, &s)
		}
		writeJSON(w, http.StatusOK, s)
	})
	mux.HandleFunc("POST /cluster/drain/{node}", func(w http.ResponseWriter, r *http.Request) {
		err := errAlone
		if in.Cluster != nil {
			err = instance.DrainReplica(r.Context(), in, r.PathValue("node"))
		}
		if err != nil {
			refuseControl(w, r, http.StatusNotFound, i18n.Why(err))
			return
		}
		writeJSON(w, http.StatusOK, map[string]any{})
	})
	mux.HandleFunc("POST /cluster/rebalance", func(w http.ResponseWriter, r *http.Request) {
		if in.Cluster == nil {
			refuseControl(w, r, http.StatusNotFound, i18n.Why(errAlone))
			return
		}
		moved, err := instance.Rebalance(r.Context(), in)
		if err != nil {
			refuseControl(w, r, http.StatusConflict, i18n.Why(err))
			return
		}
		writeJSON(w, http.StatusOK, moved)
	})
	mux.HandleFunc("POST /reload", func(w http.ResponseWriter, r *http.Request) {
		reload := in.Reread
		if r.URL.Query().Has(control.Edited) {
			reload = in.Reload
		}
		report, err := reload()
		if err != nil {
			refuseControl(w, r, http.StatusConflict, i18n.Why(err))
			return
		}
		writeJSON(w, http.StatusOK, report)
	})
	mux.HandleFunc("POST "+control.KeysChanged, func(w http.ResponseWriter, r *http.Request) {
		if err := in.Access().Keys.Read(); err != nil {
			refuseControl(w, r, http.StatusConflict, i18n.Why(err))
			return
		}
		writeJSON(w, http.StatusOK, map[string]any{})
	})
	mux.HandleFunc("POST "+control.SignInsChanged, func(w http.ResponseWriter, _ *http.Request) {
		in.Tokens.Read()
		writeJSON(w, http.StatusOK, map[string]any{})
	})
	mux.HandleFunc("POST /code", func(w http.ResponseWriter, r *http.Request) {
		if !in.Console {
			refuseControl(w, r, http.StatusNotFound, i18n.New("the gateway runs without its console", "网关没有提供控制台"))
			return
		}
		if !console.Visits.Expect() {
			refuseControl(w, r, http.StatusServiceUnavailable, i18n.New("the gateway is about to end", "网关即将退出"))
			return
		}
		code := console.Logins.NewCode(access.Owner)
		writeJSON(w, http.StatusOK, map[string]string{"url": in.URL + "/ui/#code=" + code})
	})
	mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		r.Host = "localhost"
		console.ServeHTTP(w, r.WithContext(api.Typed(r.Context())))
	})
	return mux
}

// refuseControl answers a command with an error in its user's language.
func refuseControl(w http.ResponseWriter, r *http.Request, status int, why i18n.Text) {
	lang := i18n.ByTag(r.Header.Get("Accept-Language"))
	writeJSON(w, status, map[string]any{"error": map[string]string{"message": why.In(lang)}})
}

func (c *controlServer) close() {
	c.http.Close()
	<-c.done
	os.Remove(c.path)
}

// consoleURL returns the URL of the console, with a code that logs in once.
func consoleURL(in *instance.Instance, console *web.Handler) string {
	return fmt.Sprintf("%s/ui/#code=%s", in.URL, console.Logins.NewCode(access.Owner))
}

// controlMCP lets programs of the user be clients of this gateway: at
// /mcp/SCHEMA and /mcp/SCHEMA/SERVER, and at /as/SESSION with the view of a
// connected client. All of them belong to the user. No key is needed, because
// only the user can open the socket.
func controlMCP(in *instance.Instance, mux *http.ServeMux, server *mcphttp.Server) {
	serve := func(w http.ResponseWriter, r *http.Request) {
		ep := mcphttp.Endpoint{Schema: r.PathValue("schema"), Server: r.PathValue("server")}
		ctx := access.With(r.Context(), localUser(in))
		ctx = context.WithValue(ctx, controlKey{}, r.PathValue("session"))
		server.ServeMCP(w, r.WithContext(ctx), ep, localUser(in).ID)
	}
	mux.HandleFunc("/mcp/{schema}", serve)
	mux.HandleFunc("/mcp/{schema}/{server}", serve)
	mux.HandleFunc("/as/{session}", serve)
}

// localUser returns the principal of the control channel. It sees what clients
// see, without the tools that change the configuration: those need an explicit
// grant.
func localUser(in *instance.Instance) access.Principal {
	if !in.Access().Required {
		return access.Anonymous // shares the servers with the other clients
	}
	who := access.Local
	who.Admin = false
	return who
}

// controlKey is the context key of requests from the control channel. Its value
// is the session that a new session imitates; empty for none.
type controlKey struct{}

// fromControl reports whether a request came through the control channel, and
// which session it imitates.
func fromControl(ctx context.Context) (imitated string, ok bool) {
	imitated, ok = ctx.Value(controlKey{}).(string)
	return imitated, ok
}
