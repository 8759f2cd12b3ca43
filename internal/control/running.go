package control

import (
	"context"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
)

// RunningHere returns the running gateway of our config file, or an error if
// there is none.
func RunningHere(ctx context.Context, a *env.Env) (*Remote, error) {
	path := ""
	if found, err := config.Discover(a.LoadOptions(false)); err == nil {
		path = found.Path
	}
	if r := Running(ctx, a, path); r != nil {
		return r, nil
	}
	if a.ConfigPath == "" {
		if r := Running(ctx, a, ""); r != nil {
			return r, nil
		}
	}
	return nil, env.Fail(env.ExitUnreachable, env.CodeNotRunning, a.Again("http"), "%s",
		a.T("no gateway is running with this configuration", "没有使用此配置的网关正在运行"))
}
