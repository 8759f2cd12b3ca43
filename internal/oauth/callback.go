package oauth

import (
	"context"
	"crypto/subtle"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
)

const callbackPath = "/callback"

// A callback listens on this machine for the one answer to an authorization
// request. A request without the right state is refused and changes nothing.
type callback struct {
	listener net.Listener
	server   *http.Server
	state    string
	issuer   string
	// issued says that the issuer announced that its answer names the issuer.
	issued bool
	seen   func(address string, status int)

	serving sync.WaitGroup
	mu      sync.Mutex
	used    bool
	done    chan struct{}
	code    string
	err     error
}

// listenCallback opens the port. If the port is not configured, it first tries
// the port of the previous redirect URI, so that a registered redirect URI can be
// used again.
func listenCallback(ctx context.Context, port int, before string) (net.Listener, error) {
	var lc net.ListenConfig
	if port != 0 {
		ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return nil, i18n.Errorf("listening for the answer: %w", "监听登录结果失败：%w", err)
		}
		return ln, nil
	}
	if u, err := url.Parse(before); err == nil && u.Port() != "" {
		if ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", u.Port())); err == nil {
			return ln, nil
		}
	}
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, i18n.Errorf("listening for the answer: %w", "监听登录结果失败：%w", err)
	}
	return ln, nil
}

func redirectOf(ln net.Listener) string { return "http://" + ln.Addr().String() + callbackPath }

// newCallback starts a server, which runs until close.
func newCallback(ln net.Listener, state, issuer string, issued bool, seen func(address string, status int)) *callback {
	c := &callback{listener: ln, state: state, issuer: issuer, issued: issued, seen: seen, done: make(chan struct{})}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	c.serving.Go(func() { c.server.Serve(ln) })
	return c
}

// wait returns the authorization code.
func (c *callback) wait(ctx context.Context) (string, error) {
	select {
	case <-c.done:
		return c.code, c.err
	case <-ctx.Done():
		return "", i18n.Errorf("waiting for the sign-in: %w", "等待登录：%w", context.Cause(ctx))
	}
}

func (c *callback) close() {
	// The response that is being written may finish.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		c.server.Close()
	}
	c.serving.Wait()
}

func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if r.URL.EscapedPath() != callbackPath || r.Host != c.listener.Addr().String() {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if r.Method != http.MethodGet {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	status, text := c.take(r.URL.Query(), func(status int) { c.seen("http://"+r.Host+r.URL.RequestURI(), status) })
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!doctype html><title>mcp-all-in-one</title><p>%s</p>\n", html.EscapeString(text.In(i18n.ByTag(r.Header.Get("Accept-Language")))))
}

// take handles one answer. The state is valid once.
func (c *callback) take(q url.Values, seen func(status int)) (status int, text i18n.Text) {
	defer func() { seen(status) }()
	for _, name := range []string{"state", "code", "error", "iss"} {
		if len(q[name]) > 1 {
			return http.StatusBadRequest, i18n.New("This response is ambiguous: a parameter appears twice.", "此响应有歧义：某个参数出现了两次。")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1 {
		return http.StatusBadRequest, i18n.New("This response does not belong to a sign-in in progress.", "此响应不属于任何进行中的登录。")
	}
	c.used = true
	defer close(c.done)
	c.code, c.err = c.judge(q)
	if c.err != nil {
		return http.StatusBadRequest, i18n.New("The sign-in failed; the terminal says why. You can close this page.", "登录失败，原因见终端。可以关闭此页面。")
	}
	return http.StatusOK, i18n.New("Signed in. You can close this page.", "登录成功。可以关闭此页面。")
}

// judge checks the issuer before it looks at the rest of the answer.
func (c *callback) judge(q url.Values) (string, error) {
	switch iss := q.Get("iss"); {
	case iss != "" && iss != c.issuer:
		return "", untrusted("the answer came from another issuer", "登录结果来自其他签发者")
	case iss == "" && c.issued:
		return "", untrusted("the answer does not name its issuer", "登录结果没有写明签发者")
	}
	if code := q.Get("error"); code != "" {
		return "", i18n.Errorf("the authorization server refused: %v", "授权服务器拒绝了请求：%v", plainCode(code))
	}
	if code := q.Get("code"); code != "" {
		return code, nil
	}
	return "", i18n.Errorf("the answer has no code", "登录结果中没有授权码")
}

// plainCode returns an OAuth error code, or a fixed text if code is not one.
func plainCode(code string) i18n.Text {
	if len(code) > 64 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return i18n.New("an unknown error code", "未知的错误码")
	}
	return i18n.Plain(code)
}
