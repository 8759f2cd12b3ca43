package target

import (
	"context"
	"errors"
	"fmt"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
)

// loadOrRunning is like LoadToAsk. If the file cannot be read, it returns the
// gateway that still runs with the file, provided that a shared connection is
// enough, and a configuration that lists the servers of that gateway.
func loadOrRunning(ctx context.Context, a *env.Env, f *Flags, merged bool) (*config.Config, *control.Remote, error) {
	cfg, broken := a.LoadToAsk()
	if broken == nil {
		return cfg, nil, nil
	}
	r := control.Stale(ctx, a, broken)
	if r == nil || f.Direct || !merged && (!f.Shared || f.ownConnection()) {
		return nil, nil, broken
	}
	var page control.StatusPage
	if r.Get(ctx, "/status", &page) != nil {
		return nil, nil, broken
	}
	cfg, err := config.Check(r.Config, []byte(`{"mcpServers":{}}`), a.LoadOptions(false))
	if err != nil {
		return nil, nil, broken
	}
	cfg.Schemas = nil
	for _, name := range env.SortedKeys(page.Schemas) {
		schema := config.NewSchema(name)
		for _, row := range page.Schemas[name].Servers {
			s := config.NewServer(row.Name)
			s.Schema, s.Type = name, row.Type
			schema.Servers = append(schema.Servers, s)
		}
		cfg.Schemas = append(cfg.Schemas, schema)
	}
	if load, ok := errors.AsType[*problem.LoadError](broken); ok {
		for _, p := range load.Problems {
			fmt.Fprintln(a.Stderr, a.ProblemText(p))
		}
	}
	fmt.Fprintf(a.Stderr, "%s%s\n", a.T("warning: ", "警告："), control.StaleNote(a, r))
	return cfg, r, nil
}
