package cli

import (
	"context"
	"errors"
	"fmt"

	"mcp-all-in-one/internal/config"
)

// loadToAsk reads the configuration for a command that looks or calls. Without
// any server it has the demo server that http shows then, and says so.
func (a *app) loadToAsk() (*config.Config, error) {
	cfg, demo, err := a.loadWithDemo()
	if demo {
		sayDemo(a)
	}
	return cfg, err
}

func sayDemo(a *app) {
	fmt.Fprintln(a.Stderr, a.t("no server is configured, so the demo server stands in, as with http; add one with: mcp-all-in-one add NAME -- COMMAND",
		"尚未配置服务，与 http 一样由演示服务代替；添加服务：mcp-all-in-one add NAME -- COMMAND"))
}

// demoAlone is a configuration with the demo server alone, for a person who
// names it where there is no file of his own, but one of a working tree that is
// not read. For everybody else it is the error that loading gave.
func demoAlone(a *app, err error) (*config.Config, error) {
	var missing *config.LoadError
	if a.configPath != "" || !a.wantsDemo() || !errors.As(err, &missing) || !missing.Has("AIO2001") {
		return nil, err
	}
	cfg, err := config.Check("", []byte(`{"mcpServers":{}}`), a.loadOptions(false))
	if err == nil && addDemo(cfg) {
		sayDemo(a)
	}
	return cfg, err
}

func (a *app) loadWithDemo() (cfg *config.Config, demo bool, err error) {
	if cfg, err = a.load(false); err != nil {
		if cfg, err = emptyConfig(a, err); err != nil {
			return nil, false, err
		}
	}
	return cfg, a.wantsDemo() && addDemo(cfg), nil
}

// emptyConfig is that of somebody who has not begun: no file was named, and
// there is none to name. For everybody else it is the error that loading gave.
func emptyConfig(a *app, err error) (*config.Config, error) {
	var missing *config.LoadError
	if a.configPath != "" || !a.wantsDemo() || !errors.As(err, &missing) || !missing.Has("AIO2001") {
		return nil, err
	}
	found, _ := config.Discover(a.loadOptions(false)) // its error is the one that we have
	if len(found.Tried) == 0 || len(found.Skipped) > 0 {
		return nil, err
	}
	return config.Check(found.Tried[0], []byte(`{"mcpServers":{}}`), a.loadOptions(false))
}

// stale finds the running gateway whose file can no longer be read, by the
// error that reading it gave; nil when there is none.
func stale(ctx context.Context, a *app, err error) *remote {
	var broken *config.LoadError
	if !errors.As(err, &broken) {
		return nil
	}
	for _, p := range broken.Problems {
		if p.Severity == config.SeverityError && p.File != "" {
			return running(ctx, a, p.File)
		}
	}
	return nil
}

// staleNote says what a gateway does whose file can no longer be read.
func staleNote(a *app, r *remote) string {
	return a.t("the running gateway goes on with what it read before from ", "正在运行的网关继续使用先前读取的配置：") + r.Config
}

// loadOrRunning is loadToAsk; where the file cannot be read, the gateway that
// runs with it can still be asked, as far as a shared connection will do. It
// says what there is.
func loadOrRunning(ctx context.Context, a *app, f *probeFlags, merged bool) (*config.Config, *remote, error) {
	cfg, broken := a.loadToAsk()
	if broken == nil {
		return cfg, nil, nil
	}
	r := stale(ctx, a, broken)
	if r == nil || f.direct || !merged && (!f.shared || f.ownConnection()) {
		return nil, nil, broken
	}
	var page statusPage
	if r.get(ctx, "/status", &page) != nil {
		return nil, nil, broken
	}
	cfg, err := config.Check(r.Config, []byte(`{"mcpServers":{}}`), a.loadOptions(false))
	if err != nil {
		return nil, nil, broken
	}
	cfg.Schemas = nil
	for _, name := range sortedKeys(page.Schemas) {
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
			fmt.Fprintln(a.Stderr, a.problemText(p))
		}
	}
	fmt.Fprintf(a.Stderr, "%s%s\n", a.t("warning: ", "警告："), staleNote(a, r))
	return cfg, r, nil
}
