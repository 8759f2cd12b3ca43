package http1

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A boundServer is a bounded server on plain TCP or TLS.
type boundServer struct {
	address string
	secure  bool
}

// bounded runs h on a Server, and over TLS on an http.Server, with the same limits.
func bounded(t *testing.T, h http.HandlerFunc, test func(*testing.T, boundServer)) {
	t.Run("plain", func(t *testing.T) {
		std := newStd(h)
		Bound(std, 200*time.Millisecond)
		_, address := serveStd(t, std)
		test(t, boundServer{address, false})
	})
	t.Run("tls", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(nil)
		srv.Config, srv.EnableHTTP2 = newStd(h), true
		Bound(srv.Config, 200*time.Millisecond)
		srv.StartTLS()
		t.Cleanup(srv.Close)
		test(t, boundServer{srv.Listener.Addr().String(), true})
	})
}

// dial opens a connection of HTTP/1.1.
func (s boundServer) dial(t *testing.T) net.Conn {
	c := dial(t, s.address)
	if s.secure {
		return tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	}
	return c
}

// TestUnknownExpect checks that a connection ends if net/http itself refuses a
// request whose body does not arrive.
func TestUnknownExpect(t *testing.T) {
	bounded(t, answers, func(t *testing.T, s boundServer) {
		for name, framing := range map[string]string{"length": "Content-Length: 100", "chunked": "Transfer-Encoding: chunked"} {
			t.Run(name, func(t *testing.T) {
				c := s.dial(t)
				io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: a\r\nExpect: x\r\n"+framing+"\r\n\r\n")
				if got, err := io.ReadAll(c); len(got) == 0 || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
	})
}

// TestLongAnswer checks that a request without a body may take longer than a body.
func TestLongAnswer(t *testing.T) {
	bounded(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			t.Errorf("%s: %v", r.Proto, r.Context().Err())
		case <-time.After(500 * time.Millisecond):
		}
	}, func(t *testing.T, s boundServer) {
		c := s.dial(t)
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		if got, err := io.ReadAll(c); len(got) == 0 || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
