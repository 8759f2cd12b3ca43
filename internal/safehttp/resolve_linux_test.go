package safehttp

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
)

// fault/T27: a name that first leads to an allowed address, then to another.
func TestResolverFlips(t *testing.T) {
	good, bad := netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Listener.Close()
	srv.Listener = l
	srv.StartTLS()
	t.Cleanup(srv.Close)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	trap, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	trapped := connectionsTo(t, trap)

	var lookups atomic.Int32
	var answer atomic.Pointer[[]netip.Addr]
	resolver := nameServer(t, func() []netip.Addr { lookups.Add(1); return *answer.Load() })
	c := NewClient(Options{
		Allow: prefixes("127.0.0.2/32"), Resolver: resolver,
		RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
	})
	for _, tt := range []struct {
		name  string
		addrs []netip.Addr
		ok    bool
	}{
		{"allowed", []netip.Addr{good}, true},
		{"flipped", []netip.Addr{bad}, false},
		{"both, the bad one first", []netip.Addr{bad, good}, true},
		{"metadata", []netip.Addr{netip.MustParseAddr("169.254.169.254")}, false},
	} {
		t.Run("fault/T27/"+tt.name, func(t *testing.T) {
			answer.Store(&tt.addrs)
			before := lookups.Load()
			resp, err := c.Get("https://example.com:" + port + "/")
			c.CloseIdleConnections()
			if err == nil {
				resp.Body.Close()
			}
			if (err == nil) != tt.ok || !tt.ok && !errors.As(err, new(*RefusedError)) {
				t.Errorf("error %v", err)
			}
			if n := lookups.Load() - before; n != 1 {
				t.Errorf("%d lookups for one dial", n)
			}
		})
	}
	if n := trapped.Load(); n != 0 {
		t.Errorf("fault/T27: %d connections to the address that is not allowed", n)
	}
}
