package daemon

import (
	"net/http"
	"os"
	"runtime/metrics"
	"sort"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/telemetry"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

// maxToolSeries bounds the tools with their own series; all others are added up
// as the tool "other".
const maxToolSeries = 500

// metrics serves the Prometheus metrics. They name servers and tools, so they
// are only for principals that may see all of them.
func (rt *router) metrics(w http.ResponseWriter, r *http.Request) {
	if !rt.in.Config.Metrics.Enabled {
		rt.rest(w, r, "/metrics", "")
		return
	}
	if who := access.From(r.Context()); !who.MayInspect() || !who.Unbound() {
		writeJSON(w, http.StatusForbidden, map[string]string{"error": "this needs a key with the scope admin; admin with readonly is enough"})
		return
	}
	page := metricsPage(rt.in, rt.mcp.Stats())
	w.Header().Set("Content-Type", telemetry.ContentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Write(page)
}

// metricsPage renders counters that exist anyway, so metrics cost nothing
// unless they are scraped.
func metricsPage(in *instance.Instance, front mcphttp.ServerStats) []byte {
	p := &telemetry.Page{}
	processMetrics(in, p)
	serverMetrics(in, p)
	callMetrics(p, in.Traffic.Series())
	clusterMetrics(in, p)
	p.Family("mcp_gateway_sessions", telemetry.Gauge, "Sessions of clients over HTTP.")
	p.Sample(float64(front.Sessions))
	p.Family("mcp_gateway_requests_in_flight", telemetry.Gauge, "Requests of clients that are being answered.")
	p.Sample(float64(front.InFlight))
	p.Family("mcp_gateway_client_messages_dropped_total", telemetry.Counter, "Messages that no client took, and answers to calls that had ended.")
	p.Sample(float64(front.Dropped))
	p.Family("mcp_gateway_client_streams_cut_off_total", telemetry.Counter, "Streams closed because the client did not read.")
	p.Sample(float64(front.CutOff))
	p.Family("mcp_gateway_limit_hits_total", telemetry.Counter, "How often each limit was reached, by its key in the configuration.")
	for _, hit := range in.Hits.List() {
		p.Sample(float64(hit.Count), "limit", hit.Limit)
	}
	return p.Bytes()
}

func processMetrics(in *instance.Instance, p *telemetry.Page) {
	p.Family("mcp_gateway_info", telemetry.Gauge, "What runs here.")
	p.Sample(1, "name", in.Name, "version", mcp.ProductVersion)
	p.Family("process_start_time_seconds", telemetry.Gauge, "When it started, in seconds since 1970.")
	p.Sample(float64(in.Started.UnixMilli()) / 1000)
	read := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(read)
	p.Family("mcp_gateway_memory_heap_bytes", telemetry.Gauge, "Memory of live and dead objects.")
	p.Sample(float64(read[0].Value.Uint64()))
	p.Family("mcp_gateway_memory_mapped_bytes", telemetry.Gauge, "Memory that the runtime has mapped.")
	p.Sample(float64(read[1].Value.Uint64()))
	if resident := residentBytes(); resident > 0 {
		p.Family("process_resident_memory_bytes", telemetry.Gauge, "Resident memory.")
		p.Sample(float64(resident))
	}
	p.Family("mcp_gateway_goroutines", telemetry.Gauge, "Goroutines.")
	p.Sample(float64(read[2].Value.Uint64()))
	if in.Audit != nil {
		p.Family("mcp_gateway_audit_dropped_total", telemetry.Counter, "Lines of the audit trail that were lost.")
		p.Sample(float64(in.Audit.Dropped()))
	}
	if in.Tracer != nil {
		p.Family("mcp_gateway_spans_dropped_total", telemetry.Counter, "Spans that were lost.")
		p.Sample(float64(in.Tracer.Dropped()))
	}
}

// residentBytes returns the resident memory on Linux; 0 on other systems.
func residentBytes() int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

func serverMetrics(in *instance.Instance, p *telemetry.Page) {
	list := in.Statuses()
	for _, m := range []struct {
		name, kind, help string
		value            func(*upstream.Status) float64
	}{
		{"up", telemetry.Gauge, "1 when the server is connected.", func(s *upstream.Status) float64 { return oneIf(s.State == upstream.Ready) }},
		{"running", telemetry.Gauge, "Calls that the server is working on.", func(s *upstream.Status) float64 { return float64(s.Running) }},
		{"queued", telemetry.Gauge, "Calls that wait for a place.", func(s *upstream.Status) float64 { return float64(s.Queued) }},
		{"connections", telemetry.Gauge, "Connections to the server.", func(s *upstream.Status) float64 { return float64(s.Connections) }},
		{"tools", telemetry.Gauge, "Tools that the server offers.", func(s *upstream.Status) float64 { return float64(s.Tools) }},
		{"tools_changed", telemetry.Gauge, "Tools, prompts and instructions that changed and were not approved.", func(s *upstream.Status) float64 { return float64(len(s.Changed)) }},
		{"restarts_total", telemetry.Counter, "How often the connection ended.", func(s *upstream.Status) float64 { return float64(s.Restarts) }},
	} {
		p.Family("mcp_gateway_server_"+m.name, m.kind, m.help)
		for i := range list {
			p.Sample(m.value(&list[i]), "schema", list[i].Schema, "server", list[i].Name)
		}
	}
	p.Family("mcp_gateway_server_state", telemetry.Gauge, "1 for the state that the server is in.")
	for i := range list {
		p.Sample(1, "schema", list[i].Schema, "server", list[i].Name, "state", string(list[i].State))
	}
	p.Family("mcp_gateway_server_messages_dropped_total", telemetry.Counter, "Messages of the server that were dropped.")
	for i := range list {
		for _, reason := range env.SortedKeys(list[i].Dropped) {
			p.Sample(float64(list[i].Dropped[reason]), "schema", list[i].Schema, "server", list[i].Name, "reason", reason)
		}
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// callMetrics writes three sets of series: requests of clients, calls by
// server, and calls by tool.
func callMetrics(p *telemetry.Page, all []traffic.Series) {
	var clients, servers, tools []traffic.Series
	for _, s := range all {
		switch {
		case s.Server != "" && s.Name == "":
			servers = append(servers, s)
		case s.Server != "" || s.Name != "":
			tools = append(tools, s)
		default:
			clients = append(clients, s)
		}
	}
	writeSeries(p, "mcp_gateway_client", "asked by clients", clients, func(traffic.Series) []string { return nil })
	writeSeries(p, "mcp_gateway_server", "to servers", servers, func(s traffic.Series) []string { return []string{"server", s.Server} })
	writeSeries(p, "mcp_gateway_tool", "of tools, prompts and resources", boundedTools(tools),
		func(s traffic.Series) []string { return []string{"server", s.Server, "tool", s.Name} })
}

// boundedTools keeps the tools with the most calls and adds the others up.
func boundedTools(list []traffic.Series) []traffic.Series {
	if len(list) <= maxToolSeries {
		return list
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Calls > list[j].Calls })
	other := traffic.Series{Name: "other", Reasons: map[string]int64{}, Buckets: make([]int64, len(traffic.Bounds()))}
	for _, s := range list[maxToolSeries:] {
		other.Calls, other.Errors, other.Sum = other.Calls+s.Calls, other.Errors+s.Errors, other.Sum+s.Sum
		for i, n := range s.Buckets {
			other.Buckets[i] += n
		}
	}
	return append(list[:maxToolSeries:maxToolSeries], other)
}

func writeSeries(p *telemetry.Page, prefix, what string, list []traffic.Series, labels func(traffic.Series) []string) {
	var bounds []float64
	for _, b := range traffic.Bounds() {
		bounds = append(bounds, b.Seconds())
	}
	p.Family(prefix+"_calls_total", telemetry.Counter, "Calls "+what+".")
	for _, s := range list {
		p.Sample(float64(s.Calls), labels(s)...)
	}
	p.Family(prefix+"_errors_total", telemetry.Counter, "Calls "+what+" that failed, by reason.")
	for _, s := range list {
		counted := int64(0)
		for _, reason := range env.SortedKeys(s.Reasons) {
			counted += s.Reasons[reason]
			p.Sample(float64(s.Reasons[reason]), append(labels(s), "reason", reason)...)
		}
		if s.Errors > counted {
			p.Sample(float64(s.Errors-counted), append(labels(s), "reason", "unknown")...)
		}
	}
	p.Family(prefix+"_call_duration_seconds", telemetry.Histogram, "How long calls "+what+" took.")
	for _, s := range list {
		p.Histogram(bounds, s.Buckets, s.Calls, s.Sum.Seconds(), labels(s)...)
	}
}
