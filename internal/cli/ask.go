package cli

import (
	"context"
	"errors"
	"fmt"

	"mcp-all-in-one/internal/config"
)

// LoadToAsk reads the configuration for a command that looks or calls. Without
// any server it has the demo server that http shows then, and says so.
func (a *Env) LoadToAsk() (*config.Config, error) {
	cfg, demo, err := a.LoadWithDemo()
	if demo {
		sayDemo(a)
	}
	return cfg, err
}

func sayDemo(a *Env) {
	fmt.Fprintln(a.Stderr, a.T("no server is configured, so the demo server stands in, as with http; add one with: mcp-all-in-one add NAME -- COMMAND",
		"尚未配置服务，与 http 一样由演示服务代替；添加服务：mcp-all-in-one add NAME -- COMMAND"))
}

// DemoAlone is a configuration with the demo server alone, for a person who
// names it where there is no file of his own, but one of a working tree that is
// not read. For everybody else it is the error that loading gave.
func DemoAlone(a *Env, err error) (*config.Config, error) {
	var missing *config.LoadError
	if a.ConfigPath != "" || !a.WantsDemo() || !errors.As(err, &missing) || !missing.Has("AIO2001") {
		return nil, err
	}
	cfg, err := config.Check("", []byte(`{"mcpServers":{}}`), a.LoadOptions(false))
	if err == nil && AddDemo(cfg) {
		sayDemo(a)
	}
	return cfg, err
}

func (a *Env) LoadWithDemo() (cfg *config.Config, demo bool, err error) {
	if cfg, err = a.Load(false); err != nil {
		if cfg, err = emptyConfig(a, err); err != nil {
			return nil, false, err
		}
	}
	return cfg, a.WantsDemo() && AddDemo(cfg), nil
}

// emptyConfig is that of somebody who has not begun: no file was named, and
// there is none to name. For everybody else it is the error that loading gave.
func emptyConfig(a *Env, err error) (*config.Config, error) {
	var missing *config.LoadError
	if a.ConfigPath != "" || !a.WantsDemo() || !errors.As(err, &missing) || !missing.Has("AIO2001") {
		return nil, err
	}
	found, _ := config.Discover(a.LoadOptions(false)) // its error is the one that we have
	if len(found.Tried) == 0 || len(found.Skipped) > 0 {
		return nil, err
	}
	return config.Check(found.Tried[0], []byte(`{"mcpServers":{}}`), a.LoadOptions(false))
}

// Stale finds the running gateway whose file can no longer be read, by the
// error that reading it gave; nil when there is none.
func Stale(ctx context.Context, a *Env, err error) *Remote {
	var broken *config.LoadError
	if !errors.As(err, &broken) {
		return nil
	}
	for _, p := range broken.Problems {
		if p.Severity == config.SeverityError && p.File != "" {
			return Running(ctx, a, p.File)
		}
	}
	return nil
}

// StaleNote says what a gateway does whose file can no longer be read.
func StaleNote(a *Env, r *Remote) string {
	return a.T("the running gateway goes on with what it read before from ", "正在运行的网关继续使用先前读取的配置：") + r.Config
}

// loadOrRunning is LoadToAsk; where the file cannot be read, the gateway that
// runs with it can still be asked, as far as a shared connection will do. It
// says what there is.
func loadOrRunning(ctx context.Context, a *Env, f *Flags, merged bool) (*config.Config, *Remote, error) {
	cfg, broken := a.LoadToAsk()
	if broken == nil {
		return cfg, nil, nil
	}
	r := Stale(ctx, a, broken)
	if r == nil || f.Direct || !merged && (!f.Shared || f.ownConnection()) {
		return nil, nil, broken
	}
	var page StatusPage
	if r.Get(ctx, "/status", &page) != nil {
		return nil, nil, broken
	}
	cfg, err := config.Check(r.Config, []byte(`{"mcpServers":{}}`), a.LoadOptions(false))
	if err != nil {
		return nil, nil, broken
	}
	cfg.Schemas = nil
	for _, name := range SortedKeys(page.Schemas) {
		schema := config.NewSchema(name)
		for _, row := range page.Schemas[name].Servers {
			s := config.NewServer(row.Name)
			s.Schema, s.Type = name, row.Type
			schema.Servers = append(schema.Servers, s)
		}
		cfg.Schemas = append(cfg.Schemas, schema)
	}
	var load *config.LoadError
	if errors.As(broken, &load) {
		for _, p := range load.Problems {
			fmt.Fprintln(a.Stderr, a.ProblemText(p))
		}
	}
	fmt.Fprintf(a.Stderr, "%s%s\n", a.T("warning: ", "警告："), StaleNote(a, r))
	return cfg, r, nil
}
