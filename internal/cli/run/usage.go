package run

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/usage"
	"mcp-all-in-one/internal/web"
)

// usageFlags are the flags of usage.
type usageFlags struct {
	days   int
	by     string
	unused bool
}

func UsageCommand(a *env.Env) *cobra.Command {
	f := usageFlags{days: 7, by: string(usage.ByTool)}
	cmd := &cobra.Command{
		Use:   "usage",
		Short: a.T("show who called what in the last days, how slow it was and what it cost", "显示最近几天谁调用了什么、耗时与上下文开销"),
		Long: a.T("Shows who called what in the last days: calls, failures, how long they took, and estimated tokens\nof arguments and results. It asks the running gateway; without one it reads the figures that\ngateways of this user have stored, including stdio ones. usage.enabled and usage.days in the config\nfile control what is stored.",
			"显示最近几天谁调用了什么：调用次数、失败、耗时，以及参数与结果的估算 token 数。询问正在运行的\n网关；没有网关时读取此用户的网关（包括 stdio）保存的数据。配置文件的 usage.enabled 与\nusage.days 决定保存什么。"),
		Example: "  mcp-all-in-one usage\n  mcp-all-in-one usage --days 30 --by client\n  mcp-all-in-one usage --unused\n  mcp-all-in-one usage --json",
		Args:    command.NoArgs(a),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runUsage(cmd.Context(), a, f) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.days, "days", f.days, a.T("show the last `N` days, today included, at most 366 (7)", "显示最近 `N` 天，含今天，最多 366（7）"))
	flags.StringVar(&f.by, "by", f.by, a.T("`COLUMN` to sum up by: tool, server, client or key (tool)", "按列 `COLUMN` 汇总：tool、server、client 或 key（tool）"))
	flags.BoolVar(&f.unused, "unused", false, a.T("show the tools without calls; needs a running gateway", "显示没有被调用的工具；需要正在运行的网关"))
	return cmd
}

func runUsage(ctx context.Context, a *env.Env, f usageFlags) error {
	query := usage.Query{Days: f.days, By: usage.By(f.by), Sees: func(*usage.Key) bool { return true }}
	if err := query.Check(); err != nil {
		return env.Fail(env.ExitUsage, env.CodeUsage, "mcp-all-in-one usage --help", "%s", i18n.Why(err).In(a.Lang))
	}
	report, err := usageOf(ctx, a, query, f.unused)
	if err != nil {
		return err
	}
	if len(report.Unreadable) > 0 && !a.JSON {
		fmt.Fprintf(a.Stderr, a.T("figures of %s cannot be read and are missing\n", "%s 的统计数据无法读取，未计入\n"), strings.Join(report.Unreadable, ", "))
	}
	if !report.On && !a.JSON {
		fmt.Fprintln(a.Stderr, a.T("calls are not counted: usage.enabled is false", "未统计调用：usage.enabled 为 false"))
		if f.unused || len(report.Rows) == 0 {
			return nil
		}
	}
	switch {
	case a.JSON && f.unused:
		env.WriteLine(a.Stdout, map[string]any{"on": report.On, "since": report.Since, "days": f.days, "unused": report.Unused, "unreadable": report.Unreadable})
	case a.JSON:
		env.WriteLine(a.Stdout, report)
	case f.unused:
		printUnused(a, report)
	default:
		printUsage(a, report)
	}
	return nil
}

// usageOf returns the report of the running gateway. If none runs, it reads the
// stored counts. Only a running gateway knows which tools exist.
func usageOf(ctx context.Context, a *env.Env, q usage.Query, unused bool) (*web.UsageReport, error) {
	var report web.UsageReport
	r, err := control.RunningHere(ctx, a)
	switch {
	case err == nil:
		query := url.Values{"days": {strconv.Itoa(q.Days)}, "by": {string(q.By)}}
		return &report, r.Get(ctx, "/api/v1/usage?"+query.Encode(), &report)
	case unused:
		return nil, err
	}
	report.Report = usage.Read(usage.Dir(), time.Now(), q)
	cfg, err := a.Load(false)
	report.On = err != nil || cfg.Usage.Enabled // an unreadable file does not disable counting
	return &report, nil
}

func printUsage(a *env.Env, r *web.UsageReport) {
	heads := map[usage.By]string{usage.ByTool: a.T("TOOL", "工具"), usage.ByServer: a.T("SERVER", "服务器"), usage.ByClient: a.T("CLIENT", "客户端"), usage.ByKey: a.T("KEY", "密钥")}
	t := &env.Table{Head: []string{heads[r.By], a.T("CALLS", "调用"), a.T("FAILED", "失败"), "P50", "P95", a.T("TOKENS", "TOKEN"), a.T("LAST", "最近")},
		None: a.T("no call was counted in these days", "这些天没有统计到调用")}
	if len(r.Unreadable) > 0 {
		t.None = a.T("no call was counted on other days", "其他日子没有统计到调用")
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		t.Add(i18n.Seen(rowName(a, r, row)), fmt.Sprint(row.Calls()), fmt.Sprint(row.Errors+row.ToolErrors), output.Milliseconds(row.P50)+" ms", output.Milliseconds(row.P95)+" ms", output.Thousands(int(row.Tokens)), row.Last)
	}
	a.Print(t)
	if env.IsTerminal(a.Stdout) && len(r.Rows) > 0 {
		fmt.Fprintf(a.Stdout, a.T(env.Many(int(r.Total.Calls()), "\n%d call since %s, %s tokens, of which %s are definitions of tools\n", "\n%d calls since %s, %s tokens, of which %s are definitions of tools\n"), "\n自 %[2]s 起 %[1]d 次调用，%[3]s token，其中工具定义 %[4]s\n"),
			r.Total.Calls(), r.Days[0].Day, output.Thousands(int(r.Total.Tokens)), output.Thousands(int(r.Total.Definitions)))
	}
}

// rowName returns the label of a row.
func rowName(a *env.Env, r *web.UsageReport, row *usage.Row) string {
	own := a.T("(gateway)", "（网关）")
	switch r.By {
	case usage.ByServer:
		return cmp.Or(row.Server, own)
	case usage.ByClient:
		return cmp.Or(row.Client, a.T("(unnamed)", "（未命名）"))
	case usage.ByKey:
		return cmp.Or(r.Names[row.Principal], row.Principal)
	}
	switch row.Kind {
	case usage.Prompt:
		return row.Server + "." + row.Name + a.T(" (prompt)", "（提示词）")
	case usage.Resource:
		return row.Server + a.T(" (resources)", "（资源）")
	}
	return cmp.Or(row.Server, own) + "." + row.Name
}

func printUnused(a *env.Env, r *web.UsageReport) {
	t := &env.Table{Head: []string{a.T("SERVER", "服务器"), a.T("TOOL", "工具"), a.T("TOKENS", "TOKEN")}, None: a.T("every tool was called in these days", "这些天每个工具都被调用过")}
	tokens := 0
	for _, u := range r.Unused {
		t.Add(u.Server, i18n.Seen(u.Name), fmt.Sprint(u.Tokens))
		tokens += u.Tokens
	}
	a.Print(t)
	if env.IsTerminal(a.Stdout) && len(r.Unused) > 0 {
		fmt.Fprintf(a.Stdout, a.T(env.Many(len(r.Unused), "\n%d tool, %s tokens in every conversation; to hide it: tools.NAME.enabled: false at its server\n", "\n%d tools, %s tokens in every conversation; to hide one: tools.NAME.enabled: false at its server\n"), "\n%d 个工具，每次对话占用 %s token；要隐藏某个工具，在其服务器下设置 tools.NAME.enabled: false\n"), len(r.Unused), output.Thousands(tokens))
	}
}
