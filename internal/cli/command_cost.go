package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/say"
)

func (a *app) costCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cost",
		Short: a.t("what the tools cost a model in each mode", "显示工具在各模式下的上下文成本"),
		Long: a.t("What the list of tools costs a model in each mode, and what clients were shown so\nfar: asked of the running gateway, or found out by starting the servers for a\nmoment. Tokens are estimates.",
			"显示工具列表在各模式下的上下文成本，以及客户端目前看到的内容：询问正在运行的\n网关；没有网关时短暂启动各服务。token 数为估算值。"),
		Example: "  mcp-all-in-one cost\n  mcp-all-in-one cost --json",
		Args:    a.noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runCost(cmd.Context()) },
	}
}

func (a *app) runCost(ctx context.Context) error {
	cfg, err := a.load(false)
	if err != nil {
		return err
	}
	page, err := a.statusOf(ctx, cfg)
	if err != nil {
		return err
	}
	receipts := map[string]*gateway.SchemaReceipt{}
	var names []string
	for name, schema := range page.Schemas {
		if schema.Receipt != nil {
			receipts[name] = schema.Receipt
			names = append(names, name)
		}
	}
	if a.asJSON {
		writeLine(a.Stdout, receipts)
		return nil
	}
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		a.printCost(name, receipts[name])
	}
	return nil
}

// printCost writes the receipt of a schema as a table.
func (a *app) printCost(name string, r *gateway.SchemaReceipt) {
	fmt.Fprintf(a.Stdout, "%s %s: %s %s\n", a.t("schema", "schema"), name, a.t("mode", "模式"), r.Mode)
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	row := func(what string, times int64, c catalog.Cost) {
		count := ""
		if times >= 0 {
			count = fmt.Sprint(times)
		}
		fmt.Fprintf(table, "  %s\t%s\t%d\t%d\n", what, count, c.Bytes, c.Tokens)
	}
	fmt.Fprintf(table, "  \t%s\t%s\t%s\n", a.t("times", "次数"), a.t("bytes", "字节"), a.t("tokens", "token"))
	row(a.t("one list, full", "一次列表，full"), -1, r.List.Full)
	row(a.t("one list, compact", "一次列表，compact"), -1, r.List.Compact)
	row(a.t("one list, search", "一次列表，search"), -1, r.List.Search)
	row(a.t("lists shown so far", "已展示的列表"), r.Lists, r.Shown)
	row(a.t("lookups so far", "已执行的查询"), r.Inspections, r.Inspected)
	table.Flush()
	fmt.Fprintf(a.Stdout, "  %s %s: %s\n", a.t("auto would choose", "auto 会选择"), r.Advice.Mode, a.t(r.Advice.Why, r.Advice.WhyZH))
	for _, one := range slices.Concat(r.Keys, r.Sessions) {
		if one.Why == "" {
			continue
		}
		who := a.t("session", "会话") + " " + one.Session + " " + one.Client
		if one.Session == "" {
			who = a.t("key", "密钥") + " " + one.Key
		}
		fmt.Fprintf(a.Stdout, "  %s: %s %s: %s\n", strings.TrimSpace(who), a.t("auto chose", "auto 选择了"), one.Mode, a.t(one.Why, one.WhyZH))
	}
	warnings := r.Warnings
	if a.lang == say.Chinese {
		warnings = r.WarningsZH
	}
	for _, w := range warnings {
		fmt.Fprintf(a.Stdout, "  %s %s\n", a.t("note:", "注意："), w)
	}
}
