package interop

import (
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/balancers"
	"mcp-all-in-one/test/figures"
)

// TestConformanceCluster runs the suite with three replicas behind a balancer
// that sends each request to the next one. The scores are those of one gateway.
func TestConformanceCluster(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run("fault/T52 "+revision, func(t *testing.T) {
			verdicts := conformance(t, replicas(t, cell{revision: revision, upstream: "stdio"}.entry(t))+"/s/everything/mcp", revision)
			for _, name := range required(t, revision) {
				if why, ran := verdicts[name]; !ran || why != "" {
					t.Errorf("%s: ran %v, %s", name, ran, why)
				}
			}
			figures.Report(t, "T52", "%s: all %d scenarios of the official suite that one gateway passes, through %s and three replicas, without stickiness", revision, len(required(t, revision)), balancers.HAProxy(t).Name)
		})
	}
}

// replicas starts three gateways with one secret, and returns the address of
// their balancer.
func replicas(t *testing.T, entry string) string {
	t.Helper()
	var peers, ports []string
	for range 3 {
		peers = append(peers, "127.0.0.1:"+mcptest.FreePort(t))
	}
	for i, peer := range peers {
		text := fmt.Sprintf(`{"cluster":{"secret":%q,"node":"gw%d","peer":%q,"advertise":%[3]q,"members":["%s"],"drainDelay":"0s"},"server":{"hosts":["127.0.0.1","localhost"]},"access":{"key":"the-key-of-the-conformance-suite"},"mcpServers":{"everything":%s}}`,
			strings.Repeat("s", 40), i, peer, strings.Join(peers, `","`), entry)
		u, err := url.Parse(mcptest.Gateway(t, text).URL)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, u.Port())
	}
	balancer, err := url.Parse(balancers.HAProxy(t).Start(t, ports))
	if err != nil {
		t.Fatal(err)
	}
	// The suite sends no key, but requests through a balancer need one.
	front := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(balancer)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer the-key-of-the-conformance-suite")
		},
	})
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	return front.URL
}
