package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// A Leg is one step of a connection to an HTTP server.
type Leg struct {
	// Name is dns, tcp, tls, http or auth.
	Name   string        `json:"name"`
	OK     bool          `json:"ok"`
	Took   time.Duration `json:"took"`
	Detail string        `json:"detail,omitempty"`
	// DetailZH is Detail in Chinese.
	DetailZH string `json:"detailZH,omitempty"`
}

func newLeg(name string, took time.Duration, detail string, err error) Leg {
	leg := Leg{Name: name, OK: err == nil, Took: took, Detail: detail, DetailZH: detail}
	if err != nil {
		leg.Detail, leg.DetailZH = i18n.Why(err).Both()
	}
	return leg
}

// stepTime limits each step.
const stepTime = 10 * time.Second

// Trace connects to a server step by step and stops at the first failure. It
// sends no credentials: it only tests whether the server is reachable.
func Trace(ctx context.Context, address string) []Leg {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return []Leg{newLeg("dns", 0, "", i18n.Errorf("%q is not a URL", "%q 不是 URL", address))}
	}
	t := &tracer{ctx: ctx, url: u, steps: []Leg{}}
	if t.dns() && t.tcp() && t.tls() {
		t.http()
	}
	if t.conn != nil {
		t.conn.Close()
	}
	return t.steps
}

// CertificateOf returns the certificate of the server at a URL; nil if the
// connection is not encrypted, or fails.
func CertificateOf(ctx context.Context, address string) *x509.Certificate {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" {
		return nil
	}
	t := &tracer{ctx: ctx, url: u}
	ok := t.dns() && t.tcp() && t.tls()
	if t.conn != nil {
		defer t.conn.Close()
	}
	if !ok {
		return nil
	}
	return t.conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

type tracer struct {
	ctx   context.Context
	url   *url.URL
	addrs []netip.Addr
	conn  net.Conn
	steps []Leg
}

// step runs one step and records its result.
func (t *tracer) step(name string, run func(context.Context) (string, error)) bool {
	ctx, cancel := context.WithTimeout(t.ctx, stepTime)
	defer cancel()
	began := time.Now()
	detail, err := run(ctx)
	t.steps = append(t.steps, newLeg(name, time.Since(began), detail, err))
	return err == nil
}

func (t *tracer) port() string {
	if p := t.url.Port(); p != "" {
		return p
	}
	if t.url.Scheme == "https" {
		return "443"
	}
	return "80"
}

func (t *tracer) dns() bool {
	return t.step("dns", func(ctx context.Context) (string, error) {
		var err error
		t.addrs, err = net.DefaultResolver.LookupNetIP(ctx, "ip", t.url.Hostname())
		var names []string
		for _, a := range t.addrs {
			names = append(names, a.Unmap().String())
		}
		return strings.Join(names, ", "), err
	})
}

func (t *tracer) tcp() bool {
	return t.step("tcp", func(ctx context.Context) (string, error) {
		var last error
		for _, a := range t.addrs {
			var d net.Dialer
			if t.conn, last = d.DialContext(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), t.port())); last == nil {
				return t.conn.RemoteAddr().String(), nil
			}
		}
		return "", last
	})
}

func (t *tracer) tls() bool {
	if t.url.Scheme != "https" {
		return true
	}
	return t.step("tls", func(ctx context.Context) (string, error) {
		conn := tls.Client(t.conn, &tls.Config{ServerName: t.url.Hostname(), NextProtos: []string{"http/1.1"}})
		if err := conn.HandshakeContext(ctx); err != nil {
			return "", err
		}
		t.conn = conn
		state := conn.ConnectionState()
		left := time.Until(state.PeerCertificates[0].NotAfter)
		return fmt.Sprintf("%s, %d d", tls.VersionName(state.Version), int(left.Hours()/24)), nil
	})
}

// http sends a ping on the open connection. Every server answers it in some
// way, with or without credentials.
func (t *tracer) http() {
	var challenge string
	var status int
	ok := t.step("http", func(ctx context.Context) (string, error) {
		body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url.String(), body)
		if err != nil {
			return "", err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		carrier := &http.Transport{DialContext: t.reuse, DialTLSContext: t.reuse, DisableKeepAlives: true}
		resp, err := carrier.RoundTrip(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		status, challenge = resp.StatusCode, resp.Header.Get("WWW-Authenticate")
		if status >= 500 {
			return "", i18n.Errorf("the server answers %s", "服务器返回 %s", resp.Status)
		}
		return resp.Status, nil
	})
	if ok && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		t.step("auth", func(context.Context) (string, error) {
			if challenge == "" {
				return "", i18n.Errorf("the server wants a sign-in and does not say where", "服务器要求登录，但没有说明在哪里登录")
			}
			return challenge, nil
		})
	}
}

// reuse returns the connection that the earlier steps opened.
func (t *tracer) reuse(context.Context, string, string) (net.Conn, error) { return t.conn, nil }
