package instance

import (
	"context"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/telemetry"
	"mcp-all-in-one/internal/traffic"
)

// openTelemetry starts the configured telemetry and returns the function to
// call with every call; nil for none.
func (in *Instance) openTelemetry(ctx context.Context) func(*traffic.Observation) {
	if in.Config.Audit.File != "" {
		replica := ""
		if in.Config.Cluster.Enabled() {
			replica = in.Config.Cluster.Node
		}
		in.Audit = telemetry.NewAudit(in.Config.Audit, replica, in.Log)
	}
	if in.Config.Tracing.URL != "" {
		in.Tracer = telemetry.NewTracer(ctx, in.Config.Tracing, mcp.ProductVersion, in.Log)
	}
	switch {
	case in.Audit != nil && in.Tracer != nil:
		return func(o *traffic.Observation) {
			in.Audit.Observe(o)
			in.Tracer.Observe(o)
		}
	case in.Audit != nil:
		return in.Audit.Observe
	case in.Tracer != nil:
		return in.Tracer.Observe
	}
	return nil
}

// closeTelemetry writes and sends the remaining data.
func (in *Instance) closeTelemetry() {
	if in.Audit != nil {
		in.Audit.Close()
	}
	if in.Tracer != nil {
		in.Tracer.Close()
	}
	in.Usage.Close()
}
