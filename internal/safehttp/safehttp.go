// Package safehttp is the one HTTP client for every outbound byte that does
// not go to a configured server: metadata, keys, registries, and what else the
// configuration names.
//
// Most URLs it fetches come from strangers. What decides is the address that a
// connection is made to, checked after the name was resolved; names are never
// trusted. It refuses to know what it fetches.
package safehttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"mcp-all-in-one/internal/i18n"
)

const (
	// MaxBody is how much of a body can be read.
	MaxBody = 1 << 20
	// Timeout is for a whole exchange, redirects and body included.
	Timeout      = 10 * time.Second
	maxRedirects = 3
	maxHeader    = 64 << 10
)

// ErrTooLarge is a body over MaxBody.
var ErrTooLarge = i18n.Errorf("the body is larger than %d bytes", "内容超过 %d 字节", MaxBody)

// A RefusedError says why something was not fetched.
type RefusedError struct {
	Reason i18n.Text
}

func (e *RefusedError) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *RefusedError) In(l i18n.Lang) string {
	return i18n.New("refused: %v", "已拒绝：%v", e.Reason).In(l)
}

func refuse(en, zh string, args ...any) error {
	return &RefusedError{Reason: i18n.New(en, zh, args...)}
}

// Loopback lets this machine be fetched from, also without TLS.
var Loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// Options widen what may be fetched.
type Options struct {
	// Allow lists addresses that are not public and may be fetched from all
	// the same. Those of this machine may then be fetched from without TLS.
	// A redirect from one host to another never leads there.
	Allow []netip.Prefix
	// Resolver resolves names; nil means the system's.
	Resolver *net.Resolver
	// RootCAs verify servers; nil means the system's.
	RootCAs *x509.CertPool
	// MaxBody is how much of a body can be read; MaxBody when zero.
	MaxBody int64
	// Timeout is for a whole exchange; Timeout when zero.
	Timeout time.Duration
}

// NewClient returns a client that reaches public addresses over verified TLS,
// and what opt allows.
//
// It follows up to three redirects, each checked anew, and none when the
// request may carry credentials. A body ends with ErrTooLarge at MaxBody.
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

// newTransport dials only what is public or allowed; a plain one only this machine.
func newTransport(opt Options, allow []netip.Prefix, plain bool) *http.Transport {
	dialer := &net.Dialer{
		Timeout:  Timeout,
		Resolver: opt.Resolver,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			return checkDial(network, address, allow, plain)
		},
	}
	return &http.Transport{
		// No proxy: it would resolve and dial in our place, unchecked.
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

// checkRedirect is http.Client's: the transport checks where it leads to.
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
	next.Header.Del("Referer") // it would tell one stranger about another
	return nil
}

// harmless are the headers that cannot carry a credential.
var harmless = map[string]bool{
	"Accept": true, "Accept-Language": true, "User-Agent": true, "If-None-Match": true, "If-Modified-Since": true,
	"Mcp-Protocol-Version": true, "Referer": true,
}

// Refused returns why err says that something was not fetched, nil when it
// says anything else.
func Refused(err error) *RefusedError {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused
	}
	return nil
}
