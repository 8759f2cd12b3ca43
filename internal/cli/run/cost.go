package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/receipt"
)

func CostCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "cost",
		Short: a.T("show what the tools cost a model in each mode", "显示工具在各模式下的上下文成本"),
		Long: a.T("Shows what the list of tools costs a model in each mode, and what clients were shown so\nfar. It asks the running gateway; without one it starts the servers for a moment. Tokens\nare estimates.",
			"显示工具列表在各模式下的上下文成本，以及客户端目前看到的内容：询问正在运行的\n网关；没有网关时短暂启动各服务器。token 数为估算值。"),
		Example: "  mcp-all-in-one cost\n  mcp-all-in-one cost --json",
		Args:    command.NoArgs(a),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runCost(cmd.Context(), a) },
	}
}

func runCost(ctx context.Context, a *env.Env) error {
	cfg, err := a.LoadToAsk()
	if err != nil {
		return err
	}
	page, err := statusOf(ctx, a, cfg)
	if err != nil {
		return err
	}
	control.WarnUnread(a, page)
	receipts := map[string]*receipt.Schema{}
	var names []string
	for name, schema := range page.Schemas {
		if schema.Receipt != nil {
			receipts[name] = schema.Receipt
			names = append(names, name)
		}
	}
	if env.ShowJSON(a, receipts) {
		return nil
	}
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		printCost(a, name, receipts[name])
	}
	return nil
}

// printCost prints the token costs of a schema as a table.
func printCost(a *env.Env, name string, r *receipt.Schema) {
	fmt.Fprintf(a.Stdout, a.T("schema %s: mode %s\n", "schema %s：%s 模式\n"), name, r.Mode)
	t := &env.Table{Head: []string{"", a.T("times", "次数"), a.T("bytes", "字节"), a.T("tokens", "token")}, Aligned: true}
	row := func(what string, times int64, c catalog.Cost) {
		count := ""
		if times >= 0 {
			count = fmt.Sprint(times)
		}
		t.Add("  "+what, count, fmt.Sprint(c.Bytes), fmt.Sprint(c.Tokens))
	}
	row(a.T("one list, full", "一次列表，full"), -1, r.List.Full)
	row(a.T("one list, compact", "一次列表，compact"), -1, r.List.Compact)
	row(a.T("one list, search", "一次列表，search"), -1, r.List.Search)
	row(a.T("one list, code", "一次列表，code"), -1, r.List.Code)
	row(a.T("our configuration tools", "自带的配置工具"), -1, r.Own)
	row(a.T("lists shown so far", "已展示的列表"), r.Lists, r.Shown)
	row(a.T("lookups so far", "已执行的查询"), r.Inspections, r.Inspected)
	if r.Scripts > 0 {
		row(a.T("scripts so far: returned", "已运行的脚本：返回"), r.Scripts, r.Returned)
		row(a.T("their calls, not shown to the model", "其中的调用（未进入上下文）"), r.Calls, r.Inner)
	}
	if r.Cut > 0 {
		row(a.T("results shown in part: left out", "部分显示的结果：省略"), r.Cut, r.Kept)
	}
	if r.Reads > 0 {
		row(a.T("read again of kept results", "再次读取的保存结果"), r.Reads, r.ReadBack)
	}
	a.Print(t)
	fmt.Fprintf(a.Stdout, a.T("  auto would choose %s: %s\n", "  auto 会选择 %s：%s\n"), r.Advice.Mode, a.T(r.Advice.Why, r.Advice.WhyZH))
	for _, one := range slices.Concat(r.Keys, r.Sessions) {
		printShare(a, &one)
	}
	warnings := r.Warnings
	if a.Lang == i18n.Chinese {
		warnings = r.WarningsZH
	}
	for _, w := range warnings {
		fmt.Fprintf(a.Stdout, "  %s%s\n", a.T("note: ", "注意："), w)
	}
	printRepeats(a, r)
	printLarge(a, "  ", r)
}

// printRepeats says how many calls scripts could have made, and the setting that
// allows scripts.
func printRepeats(a *env.Env, r *receipt.Schema) {
	if !r.Scripted() {
		return
	}
	fmt.Fprintf(a.Stdout, a.T("  note: of %d calls %d were followed by another call of the same tool; a script makes such calls in one turn",
		"  注意：%d 次调用中有 %d 次之后又调用了同一工具；脚本可以在一轮中完成这些调用"), r.Direct, r.Followed)
	if !r.Runs {
		fmt.Fprint(a.Stdout, a.T(`: set "mode": "code", or "code": true in the modes compact and search`, `：请设置 "mode": "code"，或在 compact、search 模式下设置 "code": true`))
	}
	fmt.Fprintln(a.Stdout)
}

// printShare prints what is known of one key or session.
func printShare(a *env.Env, r *receipt.Receipt) {
	who := strings.TrimSpace(a.T("session", "会话") + " " + r.Session + " " + r.Client)
	if r.Session == "" {
		who = a.T("key", "密钥") + " " + cmp.Or(r.Name, r.Key)
	}
	if r.Why != "" {
		fmt.Fprintf(a.Stdout, a.T("  %s: auto chose %s: %s\n", "  %s：auto 选择了 %s：%s\n"), who, r.Mode, a.T(r.Why, r.WhyZH))
	}
	if r.Scripts > 0 {
		fmt.Fprintf(a.Stdout, a.T("  %s: scripts: %d, with calls: %d; they returned %d tokens, and the results of their calls had %d\n",
			"  %s：脚本 %d 个，调用 %d 次；脚本返回 %d token，调用结果共 %d token\n"), who, r.Scripts, r.Calls, r.Returned.Tokens, r.Inner.Tokens)
	}
	if r.Cut > 0 {
		fmt.Fprintf(a.Stdout, a.T("  %s: results shown in part: %d; %d tokens were left out, and %d were read again\n",
			"  %s：部分显示的结果 %d 个；省略 %d token，再次读取 %d token\n"), who, r.Cut, r.Kept.Tokens, r.ReadBack.Tokens)
	}
}

// printLarge lists the results that clients did not show completely, and the
// setting that helps.
func printLarge(a *env.Env, indent string, r *receipt.Schema) {
	for _, l := range r.Large {
		fmt.Fprintf(a.Stdout, a.T("%snote: results that exceeded what %s shows (%d bytes): %d; to show such results in part, add to the config file: \"results\": {\"limit\": %q}\n",
			"%s注意：超过 %s 显示上限（%d 字节）的结果：%d 个；如需只显示一部分，请在配置文件中加入：\"results\": {\"limit\": %q}\n"), indent, l.Client, l.Shows, l.Count, l.Limit)
	}
}
