// Package control talks to the gateways that run on this machine, over the
// socket that each gateway opens for its user.
package control

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/folders"
)

// Info is a gateway's description of itself.
type Info struct {
	PID     int    `json:"pid"`
	Name    string `json:"name"`
	Config  string `json:"config"`
	URL     string `json:"url"`
	Console bool   `json:"console"`
	// Private is the mark of a private gateway. Only programs that know the
	// mark use it.
	Private string `json:"private,omitempty"`
}

// Dir returns the directory of the sockets of running gateways.
func Dir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcp-all-in-one")
	}
	return filepath.Join(folders.StateDir(), "run")
}

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
