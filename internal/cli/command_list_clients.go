package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/web"
)

// listClients prints who is connected to the running gateway, and what they
// offer to servers.
func listClients(a *app, cmd *cobra.Command) error {
	r, err := runningHere(cmd.Context(), a)
	if err != nil {
		return err
	}
	var clients []web.Client
	if err := r.get(cmd.Context(), "/api/v1/clients", &clients); err != nil {
		return err
	}
	if a.asJSON {
		writeLine(a.Stdout, clients)
		return nil
	}
	t := &table{head: []string{a.t("CLIENT", "客户端"), a.t("SESSION", "会话"), a.t("SCHEMA", "SCHEMA"), a.t("TRANSPORT", "传输"), a.t("PROTOCOL", "协议"), a.t("CALLS", "调用"), a.t("OFFERS", "能力")},
		none: a.t("no client is connected", "没有已连接的客户端")}
	for _, c := range clients {
		var offers []string
		for name := range jsonrpc.Members(c.Capabilities) {
			offers = append(offers, name)
		}
		slices.Sort(offers)
		t.add(i18n.Seen(strings.TrimSpace(c.Name+" "+c.Version)), c.Session, c.Schema, c.Transport, c.Protocol, fmt.Sprint(c.Calls), strings.Join(offers, ","))
	}
	a.print(t)
	return nil
}
