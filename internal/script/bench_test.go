package script

import (
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// BenchmarkRun measures a whole script in a new process and in a waiting one,
// and a single call.
func BenchmarkRun(b *testing.B) {
	r := newRunner(b)
	run := func(b *testing.B, code string) *Outcome {
		b.Helper()
		o, err := r.Run(b.Context(), &Job{Code: code, Limits: Limits{CPU: time.Minute}}, nobody{})
		if err != nil || o.Fault != nil {
			b.Fatalf("%v %+v", err, o)
		}
		return o
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			run(b, "return 1")
		}
	})
	b.Run("waiting", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			r.Warm()
			r.wg.Wait()
			// It responds when it is ready.
			_, _ = r.warm.child.conn.Call(b.Context(), &jsonrpc.Request{Method: "ping"})
			b.StartTimer()
			run(b, "return 1")
		}
	})
	b.Run("call", func(b *testing.B) {
		const calls = 1000
		var cpu time.Duration
		for b.Loop() {
			cpu += run(b, "for (let i = 0; i < 1000; i++) await tools.a.b({pattern: 'fox', limit: 10})").CPU
		}
		b.ReportMetric(float64(cpu.Microseconds())/float64(b.N)/calls, "us-cpu/call")
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/calls, "us/call")
	})
}
