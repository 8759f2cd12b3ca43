package use

import (
	"context"
	"encoding/json"

	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
)

// listServers lists the configured servers, with their state if a gateway runs.
// It starts nothing.
func listServers(ctx context.Context, a *env.Env, f *target.Flags) error {
	cfg, err := a.LoadToAsk()
	if err != nil {
		return err
	}
	states := map[string]string{}
	if r := control.Running(ctx, a, cfg.Path); r != nil {
		var page control.StatusPage
		if err := r.Get(ctx, "/status", &page); err != nil {
			return err
		}
		control.WarnUnread(a, &page)
		for schema, v := range page.Schemas {
			for _, s := range v.Servers {
				states[schema+"/"+s.Name] = string(s.Status)
			}
		}
	}
	rows := control.ConfiguredServers(cfg, states)
	if f.Structured(a) {
		raw, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		return output.PrintResult(a, &f.Options, raw, "")
	}
	t := &env.Table{Head: []string{"SCHEMA", a.T("SERVER", "服务器"), a.T("STATE", "状态"), a.T("TYPE", "类型"), a.T("TARGET", "目标")}, Word: control.StateIn(a, 2)}
	for _, s := range rows {
		t.Add(s.Schema, s.Name, s.State, s.Type, s.Target)
	}
	a.Print(t)
	return nil
}
