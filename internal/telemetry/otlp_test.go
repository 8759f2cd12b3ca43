package telemetry

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/traffic"
)

// A collector accepts the JSON of OTLP over HTTP, and nothing else.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	spans  []span
	faults []string
	header http.Header
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.header = r.Header
		body, _ := io.ReadAll(r.Body)
		var doc struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes []attribute }
				ScopeSpans []struct {
					Scope struct{ Name, Version string }
					Spans []span
				}
			}
		}
		dec := json.NewDecoder(strings.NewReader(string(body)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&doc); err != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			c.faults = append(c.faults, r.Method+" "+r.URL.Path+" "+string(body))
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, rs := range doc.ResourceSpans {
			if len(rs.Resource.Attributes) == 0 || rs.Resource.Attributes[0].Value.Text != "svc" {
				c.faults = append(c.faults, "no service.name")
			}
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
		_, _ = io.WriteString(w, `{"partialSuccess":{}}`)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) tracer(t *testing.T, sample int) *Tracer {
	t.Helper()
	tr := NewTracer(t.Context(), config.Tracing{
		URL: c.URL + "/", Sample: sample, Service: "svc", Headers: map[string]config.Secret{"X-Team": "blue"},
	}, "1.0", quiet())
	t.Cleanup(tr.Close)
	return tr
}

func TestTracer(t *testing.T) {
	c := newCollector(t)
	tr := c.tracer(t, 100)
	parent := observation(1)
	parent.Span = traffic.NewSpan("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	child := observation(1)
	child.Hop, child.Span, child.Status, child.Code, child.Reason = traffic.HopServer, parent.Span.Child(), traffic.StatusError, -32603, "upstream_closed"
	tr.Observe(child)
	tr.Observe(parent)
	tr.Close()
	if len(c.faults) > 0 || len(c.spans) != 2 {
		t.Fatalf("%d spans, faults %v", len(c.spans), c.faults)
	}
	down, up := c.spans[0], c.spans[1]
	if up.TraceID != "0af7651916cd43dd8448eb211c80319c" || up.Parent != "b7ad6b7169203331" || up.Kind != kindServer || up.Status.Code != 0 {
		t.Errorf("the client's call: %+v", up)
	}
	if down.TraceID != up.TraceID || down.Parent != up.SpanID || down.Kind != kindClient || down.Status.Code != statusError {
		t.Errorf("the server's call: %+v", down)
	}
	start, _ := strconv.ParseInt(up.Start, 10, 64)
	end, _ := strconv.ParseInt(up.End, 10, 64)
	if time.Duration(end-start) != parent.Total {
		t.Errorf("it took %v", time.Duration(end-start))
	}
	got := map[string]string{}
	for _, a := range down.Attributes {
		got[a.Key] = a.Value.Text + a.Value.Number
	}
	want := map[string]string{
		"rpc.system": "jsonrpc", "mcp.method.name": "tools/call", "mcp.session.id": "7", "mcp.gateway.schema": "default", "mcp.gateway.server": "mail",
		"enduser.id": "key:ann", "error.type": "upstream_closed", "gen_ai.tool.name": "mail__send", "rpc.jsonrpc.error_code": "-32603",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if c.header.Get("X-Team") != "blue" {
		t.Error("the configured header is missing")
	}
}

func TestSampling(t *testing.T) {
	c := newCollector(t)
	tr := c.tracer(t, 25)
	taken := 0
	for range 4000 {
		if tr.sampled(traffic.NewSpan("")) {
			taken++
		}
	}
	if taken < 800 || taken > 1200 {
		t.Errorf("%d of 4000 at 25 %%", taken)
	}
	if tr.sampled(traffic.NewSpan("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")) {
		t.Error("the client said no")
	}
	if !tr.sampled(traffic.NewSpan("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")) {
		t.Error("the client said yes")
	}
}

func TestTraceparent(t *testing.T) {
	for text, ok := range map[string]bool{
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":       true,
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later": true,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more":  false,
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":       false,
		"00-00000000000000000000000000000000-b7ad6b7169203331-01":       false,
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01":       false,
		"00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01":        false,
		"00-zzf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":       false,
		"": false,
	} {
		s := traffic.NewSpan(text)
		if s.Decided != ok || s.Trace == [16]byte{} || s.ID == [8]byte{} || (s.Parent != [8]byte{}) != ok {
			t.Errorf("%q: %+v", text, s)
		}
	}
}

func TestCollectorIsAway(t *testing.T) {
	c := newCollector(t)
	c.Close()
	tr := c.tracer(t, 100)
	for range 2 * spanQueue {
		tr.Observe(observation(1))
	}
	tr.Close()
	if n := tr.Dropped(); n != 2*spanQueue {
		t.Errorf("%d of %d are counted as lost", n, 2*spanQueue)
	}
}
