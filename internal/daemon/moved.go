package daemon

import (
	"context"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/web/api"
)

// movedFrom is the environment variable in which a gateway that starts itself
// again passes on the address it listened on.
const movedFrom = "MCP_AIO_MOVED_FROM"

// leadsFor is how long the old address leads to the new one.
const leadsFor = time.Minute

// takeMoved returns the address that the gateway listened on before it started
// itself again; empty if it did not. Servers do not inherit the variable.
func takeMoved() string {
	from := os.Getenv(movedFrom)
	os.Unsetenv(movedFrom)
	return from
}

// lead answers at the port that the gateway had before, so that open consoles
// find the new one.
func (f *front) lead(ctx context.Context, from string) {
	host, port, err := net.SplitHostPort(from)
	now, current, _ := net.SplitHostPort(f.listener.Addr().String()) // it listens
	if err != nil || host != now || port == current {
		return
	}
	ln, err := http1.Listen(ctx, from)
	if err != nil {
		f.in.Log.Debug("listening on the old port", "address", from, "err", err)
		return
	}
	server := serverFor(mcphttp.HTTPServer(http.HandlerFunc(f.moved), ServerLimits(&f.in.Config.Limits), f.in.Log), f.source)
	ctx, cancel := context.WithTimeout(ctx, leadsFor)
	context.AfterFunc(ctx, func() { server.Close() })
	f.in.Background.Go(func() {
		defer cancel()
		if err := server.Serve(ln); err != http.ErrServerClosed {
			f.in.Log.Debug("serving the old port", "address", from, "err", err)
		}
	})
}

// moved says at which port the gateway is now, at the host that the client uses.
func (f *front) moved(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	scheme, _, _ := strings.Cut(f.in.URL, ":")
	there := scheme + "://" + net.JoinHostPort(host, strconv.Itoa(f.in.Port)) + r.URL.RequestURI()
	if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/ui/") {
		http.Redirect(w, r, there, http.StatusTemporaryRedirect)
		return
	}
	w.Header().Set("Location", there)
	api.Fail(w, r, http.StatusMisdirectedRequest, "moved", i18n.New("the gateway is at port %d now", "网关现在位于端口 %d", f.in.Port))
}
