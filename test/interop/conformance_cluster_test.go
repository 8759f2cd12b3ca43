package interop

import (
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestConformanceCluster runs the suite before three replicas behind a balancer
// that sends each request to the next one: the scores are those of one gateway.
func TestConformanceCluster(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run("fault/T52 "+revision, func(t *testing.T) {
			verdicts := conformance(t, replicas(t, cell{revision: revision, upstream: "stdio"}.entry(t))+"/s/everything/mcp", revision)
			for _, name := range required(t, revision) {
				if why, ran := verdicts[name]; !ran || why != "" {
					t.Errorf("%s: ran %v, %s", name, ran, why)
				}
			}
		})
	}
}

// replicas starts three gateways with one secret, and returns the address of
// what stands before them.
func replicas(t *testing.T, entry string) string {
	t.Helper()
	peers := []string{freeAddress(t), freeAddress(t), freeAddress(t)}
	var urls []*url.URL
	for i, peer := range peers {
		text := fmt.Sprintf(`{"cluster":{"secret":%q,"node":"gw%d","peer":%q,"advertise":%[3]q,"members":["%s"],"drainDelay":"0s"},"server":{"hosts":["127.0.0.1","localhost"]},"mcpServers":{"everything":%s}}`,
			strings.Repeat("s", 40), i, peer, strings.Join(peers, `","`), entry)
		u, err := url.Parse(mcptest.Gateway(t, text).URL)
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, u)
	}
	var turn atomic.Uint32
	front := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(urls[turn.Add(1)%3])
			r.Out.Host = r.In.Host
		},
	})
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	return front.URL
}
