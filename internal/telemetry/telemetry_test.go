package telemetry

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func TestPage(t *testing.T) {
	p := &Page{}
	p.Family("mcp_calls_total", Counter, "Calls,\nby tool.")
	p.Sample(3, "tool", "a\"b\\c\nd")
	p.Sample(1.5e9, "tool", "bad \xff")
	p.Family("mcp_up", Gauge, "Up.")
	p.Sample(1)
	p.Family("mcp_call_duration_seconds", Histogram, "Time.")
	p.Histogram([]float64{0.001, 0.25}, []int64{2, 5}, 7, 1.25, "server", "x")
	want := `# HELP mcp_calls_total Calls,\nby tool.
# TYPE mcp_calls_total counter
mcp_calls_total{tool="a\"b\\c\nd"} 3
mcp_calls_total{tool="bad ` + "\uFFFD" + `"} 1.5e+09
# HELP mcp_up Up.
# TYPE mcp_up gauge
mcp_up 1
# HELP mcp_call_duration_seconds Time.
# TYPE mcp_call_duration_seconds histogram
mcp_call_duration_seconds_bucket{server="x",le="0.001"} 2
mcp_call_duration_seconds_bucket{server="x",le="0.25"} 5
mcp_call_duration_seconds_bucket{server="x",le="+Inf"} 7
mcp_call_duration_seconds_sum{server="x"} 1.25
mcp_call_duration_seconds_count{server="x"} 7
`
	if diff := cmp.Diff(want, string(p.Bytes())); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	problems, err := promlint.New(bytes.NewReader(p.Bytes())).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("Prometheus says %v, %v", problems, err)
	}
}
