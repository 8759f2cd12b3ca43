package use

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/web"
)

// listClients prints the clients of the running gateway and the capabilities
// that they offer to servers.
func listClients(a *env.Env, cmd *cobra.Command) error {
	r, err := control.RunningHere(cmd.Context(), a)
	if err != nil {
		return err
	}
	var clients []web.Client
	if err := r.Get(cmd.Context(), "/api/v1/clients", &clients); err != nil {
		return err
	}
	t := &env.Table{Head: []string{a.T("CLIENT", "客户端"), a.T("SESSION", "会话"), a.T("SCHEMA", "SCHEMA"), a.T("TRANSPORT", "传输"), a.T("PROTOCOL", "协议"), a.T("CALLS", "调用"), a.T("OFFERS", "能力")},
		None: a.T("no client is connected", "没有已连接的客户端")}
	for _, c := range clients {
		var offers []string
		for name := range jsonrpc.Members(c.Capabilities) {
			offers = append(offers, name)
		}
		slices.Sort(offers)
		t.Add(i18n.Seen(strings.TrimSpace(c.Name+" "+c.Version)), c.Session, c.Schema, c.Transport, c.Protocol, fmt.Sprint(c.Calls), strings.Join(offers, ","))
	}
	env.Show(a, clients, t)
	return nil
}

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
