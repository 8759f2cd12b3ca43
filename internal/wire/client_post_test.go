//go:build linux || darwin

package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// posting is a Client whose requests are sent by Post.
type posting struct{ *Client }

func (c posting) RoundTrip(req *http.Request) (*http.Response, error) {
	to := c.Target(req.URL, req.Host)
	if to == nil {
		return nil, errors.New("no target")
	}
	p := &Post{}
	msg, ok := to.AppendHead(p.Buffer(), req.Header)
	if !ok {
		p.Drop()
		return nil, errors.New("no head")
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(req.Context(), p.End)
	defer stop()
	length, other, err := p.Send(to, append(msg, body...), len(msg), req)
	if err != nil || other != nil {
		return other, err
	}
	b := make([]byte, length)
	err = p.Read(b)
	return &http.Response{StatusCode: 200, ContentLength: length, Body: io.NopCloser(io.MultiReader(bytes.NewReader(b), errReader{err}))}, nil
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) {
	if r.err == nil {
		return 0, io.EOF
	}
	return 0, r.err
}

// asJSON says of an answer that it is JSON.
func asJSON(answer string) string {
	return strings.Replace(answer, "\r\n", "\r\nContent-Type: application/json; charset=utf-8\r\n", 1)
}

// What is read on the short way is what RoundTrip reads, and the connection is
// kept after the same answers.
func TestPostAnswers(t *testing.T) {
	for _, tt := range clientAnswers {
		t.Run(tt.name, func(t *testing.T) {
			for _, answer := range []string{tt.bytes, asJSON(tt.bytes)} {
				c := newTestClient(t)
				var got [2]outcome
				var kept [2]bool
				for i, rt := range []http.RoundTripper{c, posting{c}} {
					p := playOnce(t, answer, tt.outcome == "ends")
					got[i] = outcomeOf(rt.RoundTrip(newPost(t.Context(), p.url, "{}")))
					if status, body := ask(t, rt, p.url, "{}"); status != 200 || body != "next" {
						t.Errorf("the next answer is %d %q", status, body)
					}
					kept[i] = p.conns.Load() == 1
				}
				if kept[0] != kept[1] {
					t.Errorf("kept: %v", kept)
				}
				long, short := got[0], got[1]
				if long.Failed != short.Failed || long.BodyFailed != short.BodyFailed || long.Code != short.Code ||
					!long.BodyFailed && long.Body != short.Body {
					t.Errorf("RoundTrip differs (-) from Post (+):\n%s", cmp.Diff(long, short))
				}
			}
		})
	}
}

// The server sees the same request on both ways.
func TestPostRequest(t *testing.T) {
	c := newTestClient(t)
	heard := make(chan *http.Request, 1)
	p := play(t, func(conn net.Conn, br *bufio.Reader) {
		for {
			r, body, err := heardRequest(br)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(strings.NewReader(body))
			heard <- r
			if _, err := io.WriteString(conn, asJSON(theNext)); err != nil {
				return
			}
		}
	})
	for _, size := range []int{2, 100, 5 << 10, 20 << 10, 32 << 10} {
		var seen [2]*http.Request
		for i, rt := range []http.RoundTripper{c, posting{c}} {
			req := newPost(t.Context(), p.url+"?a=b%20c", strings.Repeat("x", size))
			req.Host = "example.com"
			req.Header = http.Header{"X-A": {"1", " 2 "}, "User-Agent": {""}, "Content-Length": {"7"}, "Host": {"x"}}
			req.Body = io.NopCloser(strings.NewReader(strings.Repeat("x", size)))
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			seen[i] = <-heard
		}
		a, b := seen[0], seen[1]
		sentA, _ := io.ReadAll(a.Body)
		sentB, _ := io.ReadAll(b.Body)
		if diff := cmp.Diff(a.Header, b.Header); diff != "" || a.Host != b.Host || a.RequestURI != b.RequestURI || !bytes.Equal(sentA, sentB) {
			t.Errorf("%d bytes: %s %s %d, %s %s %d\n%s", size, a.Host, a.RequestURI, len(sentA), b.Host, b.RequestURI, len(sentB), diff)
		}
	}
}

func TestPostTarget(t *testing.T) {
	c := newTestClient(t)
	u := func(text string) *url.URL {
		parsed, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	if c.Target(u("https://a/mcp"), "") != nil {
		t.Error("https has a target")
	}
	if to := c.Target(u("http://a/mcp"), ""); to == nil || to.addr != "a:80" {
		t.Errorf("http: %+v", to)
	}
	if _, ok := c.Target(u("http://a/mcp"), "a b").AppendHead(nil, http.Header{}); ok {
		t.Error("a host with a space is sent")
	}
	for name, value := range map[string]string{"X A": "b", "X-A": "b\r\nX-Evil: 1", "X-B": "\x00"} {
		if b, ok := AppendField(nil, name, value); ok {
			t.Errorf("%q: %q is sent as %q", name, value, b)
		}
	}
	c.rest.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Host == "a" {
			return u("http://proxy"), nil
		}
		return nil, nil
	}
	if c.Target(u("http://a/mcp"), "") != nil || c.Target(u("http://b/mcp"), "") == nil {
		t.Error("the proxy is not asked")
	}
}

// End ends an exchange at every point, and a connection that it reached is not
// kept, whatever arrived on it.
func TestPostEnd(t *testing.T) {
	errEnough := errors.New("enough")
	for _, said := range []string{"", "HTTP/1.1 200", asJSON(ok11 + "Content-Length: 100\r\n\r\nhalf"), ok11 + "Content-Length: 100\r\n\r\nhalf"} {
		t.Run(said, func(t *testing.T) {
			c := newTestClient(t)
			heard := make(chan struct{})
			gone := make(chan struct{})
			p := play(t, func(conn net.Conn, br *bufio.Reader) {
				_, _, _ = heardRequest(br)
				_, _ = io.WriteString(conn, said)
				close(heard)
				_, _ = br.ReadByte()
				close(gone)
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-heard
				cancel(errEnough)
			}()
			resp, err := posting{c}.RoundTrip(newPost(ctx, p.url, "{}"))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
			}
			if err == nil {
				t.Error("it did not fail")
			}
			<-gone
		})
	}
	t.Run("before the write", func(t *testing.T) {
		c := newTestClient(t)
		p := playAll(t, asJSON(theNext))
		ask(t, posting{c}, p.url, "{}")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errEnough)
		post := &Post{}
		post.End()
		req := newPost(ctx, p.url, "{}")
		to := c.Target(req.URL, "")
		msg, _ := to.AppendHead(post.Buffer(), req.Header)
		if _, _, err := post.Send(to, msg, len(msg), req); !errors.Is(err, errEnough) {
			t.Errorf("got %v", err)
		}
		post.Reset()
		msg, _ = to.AppendHead(post.Buffer(), req.Header)
		length, _, err := post.Send(to, msg, len(msg), newPost(t.Context(), p.url, "{}"))
		if err != nil {
			t.Fatalf("after Reset: %v", err)
		}
		post.End() // before the body
		_ = post.Read(make([]byte, length))
		await(t, "the connection is not kept", func() bool { return p.open.Load() == 0 })
	})
	t.Run("left", func(t *testing.T) {
		c := newTestClient(t)
		p := playAll(t, asJSON(theNext))
		post := &Post{}
		req := newPost(t.Context(), p.url, "{}")
		to := c.Target(req.URL, "")
		msg, _ := to.AppendHead(post.Buffer(), req.Header)
		if _, _, err := post.Send(to, msg, len(msg), req); err != nil {
			t.Fatal(err)
		}
		post.Leave()
		await(t, "the connection is closed", func() bool { return p.open.Load() == 0 })
	})
}
