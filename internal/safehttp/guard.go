package safehttp

import (
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A router sends requests that were redirected to another host through the guard
// that allows only public addresses.
type router struct {
	own, foreign *guard
}

func (r *router) RoundTrip(req *http.Request) (*http.Response, error) {
	if redirectedAway(req) {
		return r.foreign.RoundTrip(req)
	}
	return r.own.RoundTrip(req)
}

// CloseIdleConnections is called by http.Client.
func (r *router) CloseIdleConnections() {
	for _, g := range []*guard{r.own, r.foreign} {
		g.plain.CloseIdleConnections()
		g.secure.CloseIdleConnections()
	}
}

func redirectedAway(req *http.Request) bool {
	for hop := req; hop.Response != nil && hop.Response.Request != nil; hop = hop.Response.Request {
		if from := hop.Response.Request.URL; from.Host != req.URL.Host || from.Scheme != req.URL.Scheme {
			return true
		}
	}
	return false
}

// A guard sends requests after checking their URL, and limits the size of the
// response.
type guard struct {
	max           int64
	allow         []netip.Prefix
	plain, secure *http.Transport
}

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkURL(req.URL, g.allow); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	transport := g.secure
	if req.URL.Scheme == "http" {
		transport = g.plain
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.ContentLength > g.max {
		resp.Body.Close()
		return nil, TooLarge(g.max)
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, left: g.max, max: g.max}
	return resp, nil
}

// limitedBody fails at its limit instead of ending: a part of a document must not
// pass for the whole.
type limitedBody struct {
	io.ReadCloser
	left, max int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), TooLarge(b.max)
	}
	b.left -= int64(n)
	return n, err
}

// CheckURL refuses URLs that can never be fetched with these options, before a name
// is resolved. It does not replace fetching with NewClient.
func CheckURL(raw string, opt Options) error {
	u, err := url.Parse(raw)
	if err != nil {
		return refuse("not a URL", "不是 URL")
	}
	return checkURL(u, opt.Allow)
}

func checkURL(u *url.URL, allow []netip.Prefix) error {
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("scheme %q", "协议 %q", u.Scheme)
	case u.User != nil:
		return refuse("a URL with a user name", "URL 含有用户名")
	case u.Opaque != "" || u.Host == "":
		return refuse("a URL without a host", "URL 没有主机名")
	}
	host := u.Hostname()
	if err := checkHost(host); err != nil {
		return err
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return refuse("port %q", "端口 %q", port)
		}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return checkName(u.Scheme, strings.ToLower(strings.TrimSuffix(host, ".")), allow)
	}
	if u.Scheme == "http" && !(addr.IsLoopback() && contains(addr, allow)) {
		return refuse("http, only https is fetched", "http；只允许 https")
	}
	if !Public(addr) && !contains(addr, allow) {
		return refuse("%s is not a public address", "%s 不是公网地址", addr)
	}
	return nil
}

// checkName refuses names that can only mean this machine, unless that is allowed,
// and refuses all other names without TLS.
func checkName(scheme, name string, allow []netip.Prefix) error {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		if contains(netip.AddrFrom4([4]byte{127, 0, 0, 1}), allow) || contains(netip.IPv6Loopback(), allow) {
			return nil
		}
		return refuse("%s is not a public address", "%s 不是公网地址", name)
	}
	if scheme == "http" {
		return refuse("http, only https is fetched", "http；只允许 https")
	}
	return nil
}

// checkHost refuses names that some software reads as an unusual form of an
// address.
func checkHost(host string) error {
	if len(host) > 253 {
		return refuse("a host of %d bytes", "主机名长达 %d 字节", len(host))
	}
	for i := range len(host) {
		c := host[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._:", c) >= 0 {
			continue
		}
		return refuse("a host with the character %q", "主机名含有字符 %q", c)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Is4In6() || addr.Zone() != "" {
			return refuse("the address form %s", "地址形式 %s", addr)
		}
		return nil
	}
	if strings.Contains(host, ":") {
		return refuse("the address form %s", "地址形式 %s", host)
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || allDigits(last) {
		return refuse("the address form %s", "地址形式 %s", host)
	}
	if slices.Contains(labels, "") {
		return refuse("the host %q", "主机 %q", host)
	}
	return nil
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
