// Package safehttp is the HTTP client for all outbound requests that do not go to a
// configured server: metadata, keys, registries, and other URLs in the
// configuration.
//
// Most URLs come from untrusted sources. Names are never trusted: the check applies
// to the address of the connection, after the name was resolved. The package knows
// nothing about the content that it fetches.
package safehttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"mcp-all-in-one/internal/i18n"
)

const (
	// MaxBody is the largest body that can be read.
	MaxBody = 1 << 20
	// Timeout is for a whole exchange, including redirects and body.
	Timeout      = 10 * time.Second
	maxRedirects = 3
	maxHeader    = 64 << 10
)

// ErrTooLarge is the error for a body that is too large.
var ErrTooLarge = i18n.Errorf("the body is too large", "内容过大")

// TooLarge returns ErrTooLarge with the limit.
func TooLarge(limit int64) error {
	return i18n.Errorf("%w: it is larger than %d bytes", "%w：超过 %d 字节", ErrTooLarge, limit)
}

// A RefusedError says why a URL was not fetched.
type RefusedError struct {
	Reason i18n.Text
}

func (e *RefusedError) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *RefusedError) In(l i18n.Lang) string {
	return i18n.New("refused: %v", "已拒绝：%v", e.Reason).In(l)
}

func refuse(en, zh string, args ...any) error {
	return &RefusedError{Reason: i18n.New(en, zh, args...)}
}

// Loopback allows fetching from this machine, also without TLS.
var Loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// Options extend what may be fetched.
type Options struct {
	// Allow lists addresses that are not public but may be fetched from. If they
	// belong to this machine, TLS is not required. A redirect from one host to
	// another never leads there.
	Allow []netip.Prefix
	// Resolver resolves names; nil means the system's resolver.
	Resolver *net.Resolver
	// RootCAs verify servers; nil means the system's certificates.
	RootCAs *x509.CertPool
	// MaxBody is the largest body that can be read; the constant MaxBody if zero.
	MaxBody int64
	// Timeout is for a whole exchange; the constant Timeout if zero.
	Timeout time.Duration
}

// NewClient returns a client that connects to public addresses over verified TLS,
// and to the addresses in opt.Allow.
//
// It follows up to three redirects and checks each one. It follows none if the
// request may carry credentials. Reading a body fails with ErrTooLarge at MaxBody.
func NewClient(opt Options) *http.Client {
	opt.MaxBody, opt.Timeout = cmp.Or(opt.MaxBody, MaxBody), cmp.Or(opt.Timeout, Timeout)
	own := &guard{
		max:    opt.MaxBody,
		allow:  opt.Allow,
		secure: newTransport(opt, opt.Allow, false),
		plain:  newTransport(opt, opt.Allow, true),
	}
	foreign := &guard{max: opt.MaxBody, secure: newTransport(opt, nil, false), plain: newTransport(opt, nil, true)}
	return &http.Client{
		Transport:     &router{own: own, foreign: foreign},
		CheckRedirect: checkRedirect,
		Timeout:       opt.Timeout,
	}
}

// newTransport returns a transport that dials only public or allowed addresses. If
// plain is set, it dials only allowed loopback addresses.
func newTransport(opt Options, allow []netip.Prefix, plain bool) *http.Transport {
	dialer := &net.Dialer{
		Timeout:  Timeout,
		Resolver: opt.Resolver,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			return checkDial(network, address, allow, plain)
		},
	}
	return &http.Transport{
		// No proxy: it would resolve and dial without our checks.
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: opt.RootCAs},
		TLSHandshakeTimeout:    Timeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        15 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true,
	}
}

func checkDial(network, address string, allow []netip.Prefix, plain bool) error {
	if network != "tcp4" && network != "tcp6" {
		return refuse("network %s", "网络 %s", network)
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return refuse("address %s", "地址 %s", address)
	}
	addr := target.Addr().Unmap()
	if plain && !addr.IsLoopback() {
		return refuse("%s without TLS", "%s 没有 TLS", addr)
	}
	if !Public(addr) && !contains(addr, allow) {
		return refuse("%s is not a public address", "%s 不是公网地址", addr)
	}
	return nil
}

// checkRedirect implements http.Client.CheckRedirect. The transport checks the new
// URL.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet && first.Method != http.MethodHead {
		return refuse("a redirect of a %s", "%s 请求的重定向", first.Method)
	}
	for name := range first.Header {
		if !harmless[name] {
			return refuse("a redirect of a request with the header %s", "带有请求头 %s 的请求的重定向", name)
		}
	}
	if len(via) > maxRedirects {
		return refuse("more than %d redirects", "重定向超过 %d 次", maxRedirects)
	}
	next.Header.Del("Referer") // it would reveal one host to another
	return nil
}

// harmless are the headers that cannot carry a credential.
var harmless = map[string]bool{
	"Accept": true, "Accept-Language": true, "User-Agent": true, "If-None-Match": true, "If-Modified-Since": true,
	"Mcp-Protocol-Version": true, "Referer": true,
}
