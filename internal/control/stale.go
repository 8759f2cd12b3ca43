package control

import (
	"context"
	"errors"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/env"
)

// Stale returns the running gateway whose config file can no longer be read,
// given the error of reading it; nil if there is none.
func Stale(ctx context.Context, a *env.Env, err error) *Remote {
	var broken *problem.LoadError
	if !errors.As(err, &broken) {
		return nil
	}
	for _, p := range broken.Problems {
		if p.Severity == problem.SeverityError && p.File != "" {
			return Running(ctx, a, p.File)
		}
	}
	return nil
}

// StaleNote returns a note about a gateway whose config file can no longer be
// read.
func StaleNote(a *env.Env, r *Remote) string {
	return a.T("the running gateway goes on with what it read before from ", "正在运行的网关继续使用先前读取的配置：") + r.Config
}
