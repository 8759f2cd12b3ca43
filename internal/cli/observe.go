package cli

import (
	"context"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/telemetry"
	"mcp-all-in-one/internal/traffic"
)

// openTelemetry starts what the config file asks for and returns who hears of
// every call; nil when nobody does.
func (in *instance) openTelemetry(ctx context.Context) func(*traffic.Observation) {
	if in.cfg.Audit.File != "" {
		in.audit = telemetry.NewAudit(in.cfg.Audit, in.log)
	}
	if in.cfg.Tracing.URL != "" {
		in.tracer = telemetry.NewTracer(ctx, in.cfg.Tracing, mcp.ProductVersion, in.log)
	}
	switch {
	case in.audit != nil && in.tracer != nil:
		return func(o *traffic.Observation) {
			in.audit.Observe(o)
			in.tracer.Observe(o)
		}
	case in.audit != nil:
		return in.audit.Observe
	case in.tracer != nil:
		return in.tracer.Observe
	}
	return nil
}

// closeTelemetry writes and sends what is left.
func (in *instance) closeTelemetry() {
	if in.audit != nil {
		in.audit.Close()
	}
	if in.tracer != nil {
		in.tracer.Close()
	}
}
