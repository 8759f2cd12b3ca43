package torture

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// newProxies returns the server of the proxies, with a silent logger: the zero
// value of its type.
func newProxies[M, L any](make func(M, L) *toxiproxy.ApiServer, metrics M) *toxiproxy.ApiServer {
	var silent L
	return make(metrics, silent)
}

// TestToxicNetwork tests a slow, cut or silent network between the gateway and
// its servers.
func TestToxicNetwork(t *testing.T) {
	t.Run("fault/T20", func(t *testing.T) {
		calls := figures.Size(1, 200)
		var lines []string
		for i, tc := range []struct {
			name, toxic string
			okay        bool // calls succeed, only later
		}{
			{"latency", `{"type":"latency","attributes":{"latency":50,"jitter":25}}`, true},
			{"bandwidth", `{"type":"bandwidth","attributes":{"rate":20}}`, true},
			{"slicer", `{"type":"slicer","attributes":{"average_size":40,"size_variation":20,"delay":100}}`, true},
			{"limit_data", `{"type":"limit_data","attributes":{"bytes":2000}}`, false},
			{"reset", `{"type":"reset_peer","attributes":{"timeout":5}}`, false},
			{"half-open", `{"type":"timeout","attributes":{"timeout":0}}`, false},
		} {
			for j, transport := range []string{"http", "sse"} {
				if !figures.Full() && i%2 != j {
					continue
				}
				t.Run(tc.name+" "+transport, func(t *testing.T) {
					calls := calls
					if !tc.okay {
						calls = min(calls, 20) // each waits for its timeout
					}
					ok, failed, worst := toxic(t, transport, tc.toxic, calls)
					if tc.okay && failed > 0 {
						t.Errorf("%d of %d calls failed", failed, calls)
					}
					lines = append(lines, fmt.Sprintf("%s over %s %d ok, %d told, longest %v", tc.name, transport, ok, failed, worst.Round(time.Millisecond)))
				})
			}
		}
		figures.Report(t, "T20", "up to %d calls each, then the network heals and every server answers again: %s", calls, strings.Join(lines, "; "))
	})
}

// toxic adds a toxic between a gateway and its server, calls through it, and
// removes it.
func toxic(t *testing.T, transport, description string, calls int) (ok, failed int, worst time.Duration) {
	s := mcpserver.Demo()
	s.Versions = mcpserver.LegacyVersions
	handler, stop := s.HTTP("")
	front := httptest.NewServer(handler)
	proxies := newProxies(toxiproxy.NewServer, toxiproxy.NewMetricsContainer(nil))
	proxy := toxiproxy.NewProxy(proxies, "p", "127.0.0.1:0", strings.TrimPrefix(front.URL, "http://"))
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Stop(); stop(); front.Close() })
	path := map[string]string{"http": "/mcp", "sse": "/sse"}[transport]
	gateway := mcptest.Gateway(t, fmt.Sprintf(`{"mcpServers":{"demo":{"type":%q,"url":%q,"timeout":"2s","restartDelay":"200ms"}}}`, transport, "http://"+proxy.Listen+path))
	ready(t, gateway)
	c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
	c.Initialize(mcp.LatestLegacy, `{}`)
	echo := func(i int) (mcptest.Message, time.Duration) {
		begun := time.Now()
		m := c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"demo__echo","arguments":{"message":"hello"}}}`, i)).Answer(t)
		return m, time.Since(begun)
	}
	added, err := proxy.Toxics.AddToxicJson(strings.NewReader(description))
	if err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		m, took := echo(i)
		worst = max(worst, took)
		if m.Error == nil {
			ok++
			continue
		}
		failed++
		if !strings.Contains(m.Raw, `"reason":"upstream_`) {
			t.Errorf("an error outside the closed set: %s", m.Raw)
		}
	}
	if worst > 12*time.Second {
		t.Errorf("a call took %v", worst)
	}
	if err := proxy.Toxics.RemoveToxic(t.Context(), added.Name); err != nil {
		t.Fatal(err)
	}
	eventually(t, "recovery", patience, func() bool {
		m, _ := echo(9999)
		return m.Error == nil
	})
	return ok, failed, worst
}
