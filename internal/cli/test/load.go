package test

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/cli/use"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

func LoadCommand(a *env.Env) *cobra.Command {
	var f use.CallFlags
	var o probe.LoadOptions
	cmd := target.NewOnce(a, "load TARGET TOOL [NAME=VALUE ...]", a.T("call a tool repeatedly and measure how long it takes", "反复调用工具并统计耗时"), &f.Flags,
		func(b *target.Connection, words []string) error { return loadServer(b, &f, o, words[0], words[1:]) })
	cmd.ValidArgsFunction = target.CompleteTarget(a, &f.Flags, 0, catalog.Tools)
	cmd.Example = "  mcp-all-in-one load github search_issues query=bug --parallel 10 --duration 10s"
	flags := cmd.Flags()
	flags.IntVar(&o.Parallel, "parallel", 10, a.T("make `N` calls at once, at most 1000 (10)", "同时进行 `N` 次调用，最多 1000（10）"))
	flags.DurationVar(&o.Duration, "duration", 10*time.Second, a.T("end after `TIME`, at most 10m (10s)", "`TIME` 后结束，最多 10m（10s）"))
	flags.IntVarP(&o.Count, "count", "n", 0, a.T("end after `N` calls", "`N` 次调用后结束"))
	flags.StringVar(&f.Args, "args", "", a.T("arguments as `JSON`, @FILE, or - for standard input", "以 `JSON`、@FILE 或 -（标准输入）给出参数"))
	flags.BoolVar(&f.NoValidate, "no-validate", false, a.T("send the arguments whatever the schema says", "不按 schema 校验，直接发送"))
	return cmd
}

func loadServer(b *target.Connection, f *use.CallFlags, o probe.LoadOptions, name string, words []string) error {
	if o.Parallel < 1 || o.Parallel > probe.MaxLoadParallel || o.Duration <= 0 || o.Duration > probe.MaxLoadDuration {
		return env.Fail(env.ExitUsage, env.CodeUsage, "--parallel 1..1000, --duration 1ms..10m", "%s", b.Env.T("the load is out of bounds", "负载超出范围"))
	}
	base, err := use.ArgumentsFrom(b.Env, f.Args)
	if err != nil {
		return err
	}
	tool, err := use.FindTool(b, name)
	if err != nil && !f.NoValidate {
		return err
	}
	if f.NoValidate {
		tool = nil
	}
	args, err := use.TypedArguments(b, tool, base, words)
	if err != nil {
		return err
	}
	o.Method = mcp.MethodToolsCall
	o.Params = jsonrpc.Set(jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(name), "name"), args, "arguments")
	r := probe.Load(b.Ctx, b.Session, o)
	if !env.ShowJSON(b.Env, r) {
		printLoad(b.Env, r)
	}
	if r.Errors+r.ToolErrors > 0 {
		return env.Silent(env.ExitTool)
	}
	return nil
}

func printLoad(a *env.Env, r *probe.LoadResult) {
	fmt.Fprintf(a.Stdout, a.T("%d "+env.Many(r.Calls, "call", "calls")+", %d "+env.Many(r.Errors, "error", "errors")+", %d tool "+env.Many(r.ToolErrors, "error", "errors")+", %.1f s, %.0f/s\n",
		"%d 次调用，%d 个错误，%d 个工具错误，%.1f s，%.0f 次/s\n"),
		r.Calls, r.Errors, r.ToolErrors, r.Seconds, r.PerSecond)
	fmt.Fprintf(a.Stdout, "ms  min %.2f  p50 %.2f  p90 %.2f  p99 %.2f  max %.2f  %s %.2f\n", r.Min, r.P50, r.P90, r.P99, r.Max, a.T("mean", "平均"), r.Mean)
	most := 1
	for _, b := range r.Histogram {
		most = max(most, b.Count)
	}
	for _, b := range r.Histogram {
		fmt.Fprintf(a.Stdout, "≤ %9.3f ms  %8d  %s\n", b.UpTo, b.Count, strings.Repeat("█", (b.Count*40+most-1)/most))
	}
	for i, p := range r.Problems {
		fmt.Fprintf(a.Stdout, "! %s\n", a.T(p, r.ProblemsZH[i]))
	}
}
