package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/safehttp"
)

// dialWait bounds how long a host may take to answer, and helloWait how long a
// client may take to begin.
const (
	dialWait  = 30 * time.Second
	helloWait = 30 * time.Second
)

// maxName is how long a name of a host is at most.
const maxName = 253

// A host is one that a server may reach by name.
type host struct {
	name    string // in lower case; "*.example.com" is any name below
	port    uint16 // zero: 443 and 80
	private bool   // at whatever address it is
}

// fits says that a name and a port are the host's.
func (h host) fits(name string, port uint16) bool {
	if h.port != port && (h.port != 0 || port != 443 && port != 80) {
		return false
	}
	if suffix, ok := strings.CutPrefix(h.name, "*"); ok {
		return strings.HasSuffix(name, suffix) && len(name) > len(suffix)
	}
	return name == h.name
}

// named are the hosts of a list that are names.
func named(list []string) []host {
	var hosts []host
	for _, text := range list {
		name, port, ok := config.SplitHost(text)
		if _, err := netip.ParseAddr(name); ok && err != nil {
			hosts = append(hosts, host{name, port, name == "localhost"})
		}
	}
	return hosts
}

// Reaches says that a list of hosts has one, NAME:PORT or ADDRESS:PORT, in it.
func Reaches(list []string, wanted string) bool {
	name, port, ok := config.SplitHost(wanted)
	if _, err := netip.ParseAddr(name); err != nil {
		_, found := grant{hosts: named(list)}.find(name, port)
		return ok && found
	}
	return ok && slices.ContainsFunc(list, func(text string) bool {
		host, port, _ := config.SplitHost(text)
		addr, err := netip.ParseAddr(host)
		return err == nil && slices.Contains(addresses(addr, port), wanted)
	})
}

// A grant is what the bearer of a secret may reach.
type grant struct {
	server string
	hosts  []host
	asks   bool // a person may be asked for more hosts
	// noted hears of every host; all are allowed then.
	noted func(host string)
}

// A Proxy is how confined servers reach hosts by name. It listens on this
// machine; names are resolved and dialled by it. The zero value is ready.
type Proxy struct {
	Log *slog.Logger
	// Refused hears of a host that a server wanted and that is not in its list,
	// as it would be written there; nil if nobody does. It must not block.
	Refused func(server, host string)

	mu       sync.Mutex
	grants   map[string]grant // by secret
	listener net.Listener
	server   *http.Server
	life     context.Context
	end      context.CancelFunc
	tunnels  sync.WaitGroup
	closed   bool
}

// open lets a program reach hosts through the proxy until release is called.
func (x *Proxy) open(g grant, p *Program, profile *Profile) (release func(), err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.start(); err != nil {
		return nil, err
	}
	secret := rand.Text()
	x.grants[secret] = g
	useProxy(p, profile, x.listener.Addr().String(), secret)
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.grants, secret)
	}, nil
}

// start begins to listen when the first server needs it.
func (x *Proxy) start() error {
	if x.closed {
		return net.ErrClosed
	}
	if x.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	x.grants = make(map[string]grant)
	x.listener = l
	x.life, x.end = context.WithCancel(context.Background())
	x.server = &http.Server{Handler: http.HandlerFunc(x.handle), ReadHeaderTimeout: helloWait, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	x.tunnels.Go(func() { _ = x.server.Serve(l) })
	return nil
}

// Close ends all connections.
func (x *Proxy) Close() {
	x.mu.Lock()
	x.closed = true
	if x.listener != nil {
		x.end()
		x.server.Close()
	}
	x.mu.Unlock()
	x.tunnels.Wait()
}

// granted returns what the bearer of the request may reach.
func (x *Proxy) granted(r *http.Request) (grant, bool) {
	text, _ := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	plain, _ := base64.StdEncoding.DecodeString(text)
	_, secret, _ := strings.Cut(string(plain), ":")
	x.mu.Lock()
	defer x.mu.Unlock()
	g, ok := x.grants[secret]
	return g, ok
}

func (x *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	g, ok := x.granted(r)
	if !ok {
		w.Header().Set("Proxy-Authenticate", `Basic realm="sandbox"`)
		http.Error(w, "the proxy of a sandbox needs its secret", http.StatusProxyAuthRequired)
		return
	}
	standard := uint16(80)
	address := r.URL.Host
	if r.Method == http.MethodConnect {
		standard, address = 443, r.Host
	} else if r.URL.Scheme != "http" || address == "" {
		http.Error(w, "this is a proxy: it takes CONNECT and http:// addresses", http.StatusBadRequest)
		return
	}
	name, port := splitTarget(address, standard)
	h, ok := g.find(name, port)
	if g.noted != nil {
		g.noted(net.JoinHostPort(name, strconv.Itoa(int(port))))
		h, ok = host{name, port, true}, true
	}
	if !ok {
		x.missed(g, name, port)
		x.refuse(w, g, name, port, "it is not among the hosts of the sandbox of "+g.server+`; add it to "hosts" in "sandbox" of its entry`)
		return
	}
	failed := func(err error) {
		if errors.Is(err, errNotPublic) {
			x.refuse(w, g, name, port, errNotPublic.Error()+`; to allow it, add its address to "hosts" in "sandbox" of the entry of `+g.server)
			return
		}
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
	if r.Method == http.MethodConnect {
		x.tunnel(w, r, h, name, port, failed)
		return
	}
	forward(w, r, h, name, port, failed)
}

// missed tells of a host that could be added to the list: a name, because an
// address that is listed is connected to without the proxy.
func (x *Proxy) missed(g grant, name string, port uint16) {
	if x.Refused == nil || !g.asks || len(name) > maxName {
		return
	}
	at := name + ":" + strconv.Itoa(int(port))
	known, _, ok := config.SplitHost(at)
	if _, err := netip.ParseAddr(known); ok && err != nil && !strings.HasPrefix(known, "*") {
		x.Refused(g.server, at)
	}
}

// refuse says to the server, and in the log, that it may not reach a host.
func (x *Proxy) refuse(w http.ResponseWriter, g grant, name string, port uint16, why string) {
	at := net.JoinHostPort(name, strconv.Itoa(int(port)))
	if x.Log != nil {
		x.Log.Warn("the sandbox refused a host", "server", g.server, "host", at, "why", why)
	}
	http.Error(w, at+" is refused: "+why, http.StatusForbidden)
}

func splitTarget(address string, standard uint16) (string, uint16) {
	name, text, err := net.SplitHostPort(address)
	if err != nil {
		return strings.ToLower(strings.TrimSuffix(address, ".")), standard
	}
	port, _ := strconv.ParseUint(text, 10, 16)
	return strings.ToLower(strings.TrimSuffix(name, ".")), uint16(port)
}

func (g grant) find(name string, port uint16) (host, bool) {
	for _, h := range g.hosts {
		if h.fits(name, port) {
			return h, true
		}
	}
	return host{}, false
}

var errNotPublic = i18n.Errorf("the host is at an address that is not public", "该主机的地址不是公网地址")

// dial connects to a host that is allowed. Its address must be public, unless
// it may be anywhere.
func (h host) dial(ctx context.Context, name string, port uint16) (net.Conn, error) {
	d := net.Dialer{Timeout: dialWait, Control: func(_, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil || !h.private && !safehttp.Public(target.Addr().Unmap()) {
			return errNotPublic
		}
		return nil
	}}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(name, strconv.Itoa(int(port))))
}

// forward sends a plain HTTP request on. failed says why it could not be sent.
func forward(w http.ResponseWriter, r *http.Request, h host, name string, port uint16, failed func(error)) {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return h.dial(ctx, name, port)
	}}
	proxy := httputil.ReverseProxy{
		Transport: transport,
		// The name that was checked is the one that is asked for.
		Rewrite:      func(p *httputil.ProxyRequest) { p.Out.Host = p.Out.URL.Host },
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed(err) },
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, 0),
	}
	proxy.ServeHTTP(w, r)
}
