// Package origin refuses requests from foreign web pages, and answers those of allowed
// ones as browsers expect.
package origin

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp"
)

// A Guard protects against foreign web pages: it refuses requests for hosts that
// are not ours (DNS rebinding) and from unknown origins. It must check the requests
// of every route. Its fields must not change while it is used.
type Guard struct {
	// Loopback says that the server listens on loopback only. Then Host must be a
	// name of this machine or one of Hosts.
	Loopback bool
	// Hosts are further names of the server, "name" for any port or "name:port".
	Hosts []string
	// Origins are the origins of allowed web pages, "scheme://host[:port]".
	Origins []string
	// AnyOrigin allows every web page.
	AnyOrigin bool
	// Refused is told of requests for hosts that are not ours; it may be nil.
	Refused func(r *http.Request)
	// Port is the port of the server's URL; zero means the port of the connection.
	Port int
}

// Check reports whether r is allowed. If it is not, or is a preflight, it has been
// answered.
func (g *Guard) Check(w http.ResponseWriter, r *http.Request) bool {
	if !g.CheckHost(w, r) {
		return false
	}
	own := g.listener(r)
	origins := r.Header["Origin"]
	if len(origins) > 1 {
		mcphttp.Refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "more than one Origin")
		return false
	}
	if len(origins) == 0 {
		if crossSite(r) {
			mcphttp.Refuse(w, http.StatusForbidden, jsonrpc.CodeInvalidRequest, "request from another site")
			return false
		}
		return true
	}
	if !g.originAllowed(r, origins[0], own) {
		mcphttp.Refuse(w, http.StatusForbidden, jsonrpc.CodeInvalidRequest, fmt.Sprintf("origin %.200q not allowed: add it to server.cors.origins of the config file", origins[0]))
		return false
	}
	return !g.share(w, r, origins[0])
}

// CheckHost is Check without the check of the origin, for pages to which other
// sites lead.
func (g *Guard) CheckHost(w http.ResponseWriter, r *http.Request) bool {
	if !g.hostAllowed(r, g.listener(r)) {
		if g.Refused != nil {
			g.Refused(r)
		}
		mcphttp.Refuse(w, http.StatusForbidden, jsonrpc.CodeInvalidRequest, fmt.Sprintf("host %.200q not allowed: add it to server.hosts of the config file", r.Host))
		return false
	}
	return true
}

// listener returns the local address of r's connection.
func (g *Guard) listener(r *http.Request) netip.AddrPort {
	var own netip.AddrPort
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		own = a.AddrPort()
		own = netip.AddrPortFrom(own.Addr().Unmap().WithZone(""), own.Port())
	}
	if g.Port != 0 {
		own = netip.AddrPortFrom(own.Addr(), uint16(g.Port))
	}
	return own
}

// hostAllowed checks the host that r is for. A host in the request target is always
// checked, whatever the server listens on: it overrides the Host header.
func (g *Guard) hostAllowed(r *http.Request, own netip.AddrPort) bool {
	if !g.Loopback && len(g.Hosts) == 0 && r.URL.Host == "" {
		return true
	}
	host, port := splitHost(r.Host, defaultPort(r.TLS != nil))
	return g.listed(host, port) || isOwn(host, port, own)
}

// Named reports whether r is for one of the configured names.
func (g *Guard) Named(r *http.Request) bool {
	return g.listed(splitHost(r.Host, defaultPort(r.TLS != nil)))
}

// listed reports whether a name is configured.
func (g *Guard) listed(host, port string) bool {
	return slices.ContainsFunc(g.Hosts, func(h string) bool {
		name, only := splitHost(h, "")
		return strings.EqualFold(name, host) && (only == "" || only == port)
	})
}

// isOwn reports whether host is a loopback name, or the local address of the
// connection, at our port.
func isOwn(host, port string, own netip.AddrPort) bool {
	if own.Port() != 0 && port != strconv.Itoa(int(own.Port())) {
		return false
	}
	if strings.EqualFold(host, "localhost") || host == "127.0.0.1" || host == "::1" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && own.Addr().IsValid() && addr.Unmap() == own.Addr() && !addr.IsUnspecified()
}

// splitHost splits host[:port] and removes the brackets of IPv6.
func splitHost(hostport, def string) (host, port string) {
	if i := strings.LastIndexByte(hostport, ':'); i >= 0 && !strings.HasSuffix(hostport, "]") {
		if strings.IndexByte(hostport, ':') == i || strings.HasPrefix(hostport, "[") {
			hostport, def = hostport[:i], hostport[i+1:]
		}
	}
	if strings.HasPrefix(hostport, "[") && strings.HasSuffix(hostport, "]") {
		hostport = hostport[1 : len(hostport)-1]
	}
	return hostport, def
}

func defaultPort(secure bool) string {
	if secure {
		return "443"
	}
	return "80"
}

// originAllowed reports whether the Origin of a request is our own or a configured
// one.
func (g *Guard) originAllowed(r *http.Request, origin string, own netip.AddrPort) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false // also "null" and ""
	}
	if g.AnyOrigin {
		return true
	}
	scheme := strings.ToLower(u.Scheme)
	host, port := splitHost(u.Host, defaultPort(scheme == "https"))
	if slices.ContainsFunc(g.Origins, func(o string) bool { return sameOrigin(o, scheme, host, port) }) {
		return true
	}
	if scheme == "https" && strings.EqualFold(u.Host, r.Host) && g.Named(r) {
		return true // a proxy may terminate TLS; no other server has https at our name
	}
	if scheme != "http" && scheme != "https" || (scheme == "https") != (r.TLS != nil) {
		return false
	}
	if isOwn(host, port, own) {
		return true
	}
	ourHost, ourPort := splitHost(r.Host, defaultPort(r.TLS != nil))
	if !strings.EqualFold(host, ourHost) || port != ourPort {
		return false
	}
	// The page comes from the host that it sends the request to. That is proof only
	// if the name cannot have been rebound.
	_, literal := netip.ParseAddr(host)
	return literal == nil || g.listed(host, port)
}

// sameOrigin reports whether a configured origin equals the given one.
func sameOrigin(configured, scheme, host, port string) bool {
	u, err := url.Parse(configured)
	if err != nil {
		return false
	}
	h, p := splitHost(u.Host, defaultPort(strings.EqualFold(u.Scheme, "https")))
	return strings.EqualFold(u.Scheme, scheme) && strings.EqualFold(h, host) && p == port
}

// crossSite reports whether a browser says that a request without Origin comes from
// another site. Servers on one machine differ only by port and count as the same
// site, so requests that change something must come from the same origin.
func crossSite(r *http.Request) bool {
	for _, site := range r.Header["Sec-Fetch-Site"] {
		switch site {
		case "same-origin", "none":
		case "same-site":
			if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions {
				return true
			}
		default:
			return true
		}
	}
	return false
}
