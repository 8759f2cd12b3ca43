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

// dialWait limits how long connecting to a host may take; helloWait limits how long a
// client may take to send its first message.
const (
	dialWait  = 30 * time.Second
	helloWait = 30 * time.Second
)

// A host is a host that a server may connect to by name.
type host struct {
	name    string // in lower case; "*.example.com" matches any subdomain
	port    uint16 // zero: 443 and 80
	private bool   // it may have any address
}

// fits reports whether a name and a port match the host.
func (h host) fits(name string, port uint16) bool {
	if h.port != port && (h.port != 0 || port != 443 && port != 80) {
		return false
	}
	if suffix, ok := strings.CutPrefix(h.name, "*"); ok {
		return strings.HasSuffix(name, suffix) && len(name) > len(suffix)
	}
	return name == h.name
}

// named returns the hosts of a list that are names, not addresses.
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

// Reaches reports whether a list of hosts contains NAME:PORT or ADDRESS:PORT.
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

// A grant says which hosts the holder of a secret may connect to.
type grant struct {
	server string
	hosts  []host
	asks   bool // a person may be asked for more hosts
	// noted is called with every host; if it is set, all hosts are allowed.
	noted func(host string)
}

// A Proxy lets confined servers connect to hosts by name. It listens on this
// machine, resolves the names and connects to the hosts itself. The zero value is
// ready to use.
type Proxy struct {
	Log *slog.Logger
	// Refused is called with a host that was refused because it is not in the
	// server's list, in the form of that list. It must not block. It may be nil.
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

// open lets a program connect to hosts through the proxy until release is called.
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

// start starts listening when the first server needs the proxy.
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

// Close closes all connections.
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

// granted returns the grant of the secret in the request.
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
	name, port, ok := splitTarget(address, standard)
	if !ok {
		http.Error(w, "the port is not a number from 1 to 65535", http.StatusBadRequest)
		return
	}
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

// missed reports a host that could be added to the list.
func (x *Proxy) missed(g grant, name string, port uint16) {
	at := net.JoinHostPort(name, strconv.Itoa(int(port)))
	if x.Refused != nil && g.asks && offered(at) {
		x.Refused(g.server, at)
	}
}

// privateNames are suffixes of names that mean a machine in a private network.
var privateNames = []string{".local", ".localdomain", ".internal", ".intranet", ".lan", ".home", ".corp", ".private", ".home.arpa"}

// offered reports whether a person may be asked to add NAME:PORT, which a server
// has chosen, to its list. It must be the name of one public host: a server connects
// to listed addresses without the proxy.
func offered(at string) bool {
	name, port, ok := config.SplitHost(at)
	if !ok || port == 0 || !strings.Contains(name, ".") || safehttp.CheckURL("https://"+at, safehttp.Options{}) != nil {
		return false
	}
	_, err := netip.ParseAddr(name)
	return err != nil && !slices.ContainsFunc(privateNames, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// refuse tells the server, and the log, that it may not connect to a host.
func (x *Proxy) refuse(w http.ResponseWriter, g grant, name string, port uint16, why string) {
	at := net.JoinHostPort(name, strconv.Itoa(int(port)))
	if x.Log != nil {
		x.Log.Warn("the sandbox refused a host", "server", g.server, "host", at, "why", why)
	}
	http.Error(w, at+" is refused: "+why, http.StatusForbidden)
}

// splitTarget splits an address into its lower-case name and its port, which is
// standard if none is written.
func splitTarget(address string, standard uint16) (name string, port uint16, ok bool) {
	name, text, err := net.SplitHostPort(address)
	if err != nil || text == "" {
		return strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(address, ":"), ".")), standard, true
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return strings.ToLower(strings.TrimSuffix(name, ".")), uint16(n), err == nil && n != 0
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

// dial connects to an allowed host. Its address must be public, unless the host is
// private.
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

// transport sends requests to an allowed host, as they are.
func (h host) transport(name string, port uint16) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return h.dial(ctx, name, port)
	}}
}

// forward forwards a plain HTTP request. It calls failed if the request could not
// be sent.
func forward(w http.ResponseWriter, r *http.Request, h host, name string, port uint16, failed func(error)) {
	proxy := httputil.ReverseProxy{
		Transport: h.transport(name, port),
		// The Host header must be the name that was checked.
		Rewrite:      func(p *httputil.ProxyRequest) { p.Out.Host = p.Out.URL.Host },
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed(err) },
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, 0),
	}
	proxy.ServeHTTP(w, r)
}
