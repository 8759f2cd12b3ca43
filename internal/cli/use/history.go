package use

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/tester/history"
)

func HistoryCommand(a *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history",
		Short: a.T("show earlier requests, and send them again", "查看并重发此前的请求"),
		Long: a.T("Shows the last 20 requests of the tester, sent from the command line or the console. The last 500\nare kept with their answers: ls -n shows more of them, show one with its answer. Secrets are\nreplaced; --no-history does not keep a request.",
			"显示测试器最近 20 个请求，命令行与控制台共用。最近 500 个请求及其回答会被保留：\nls -n 显示更多，show 显示一个及其回答。密钥会被替换；--no-history 不记录该请求。"),
		Example: "  mcp-all-in-one history\n  mcp-all-in-one history rerun 4kxq\n  mcp-all-in-one history rerun 4kxq https://staging.example.com/mcp\n" +
			"  mcp-all-in-one history export history.json",
		Args: command.NoArgs(a),
		RunE: func(*cobra.Command, []string) error { return listHistory(a, "", 20) },
	}
	cmd.AddCommand(historyList(a), historyShow(a), historyRerun(a), historyExport(a), historyImport(a), historyClear(a))
	return cmd
}

func historyList(a *env.Env) *cobra.Command {
	limit := 20
	cmd := &cobra.Command{
		Use: "ls [TARGET]", Aliases: []string{"list"}, Short: a.T("list the requests, the newest last", "列出请求，最新的在最后"), Args: command.ArgCount(a, 0, 1),
		RunE: func(_ *cobra.Command, args []string) error { return listHistory(a, strings.Join(args, ""), limit) },
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, a.T("show the last `N` requests (20)", "显示最近 `N` 条请求（20）"))
	return cmd
}

func listHistory(a *env.Env, of string, limit int) error {
	runs, err := target.OpenHistory().List(of, "", "", limit)
	if err != nil {
		return err
	}
	t := &env.Table{Head: []string{"ID", a.T("TIME", "时间"), a.T("TARGET", "目标"), a.T("METHOD", "方法"), a.T("NAME", "名称"), a.T("STATUS", "状态"), a.T("TOOK", "耗时")},
		None: a.T("no requests yet", "还没有历史请求")}
	for _, r := range slices.Backward(runs) {
		t.Add(r.ID, r.Start.Local().Format("2006-01-02 15:04:05"), r.Target, r.Method, r.Name, r.Status, output.Milliseconds(r.Total)+" ms")
	}
	env.Show(a, map[string]any{"runs": runs}, t)
	return nil
}

func historyRun(a *env.Env, id string) (history.KeptRun, error) {
	k, ok := target.OpenHistory().Get(id)
	if !ok {
		return k, env.Fail(env.ExitUsage, env.CodeUsage, "mcp-all-in-one history ls", "%s%q", a.T("the history has no request with this ID, or several: ", "历史中没有此 ID 的请求，或不止一个："), id)
	}
	return k, nil
}

func historyShow(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: a.T("show a request and its answer", "显示请求及其回答"), Args: command.ArgCount(a, 1, 1), ValidArgsFunction: target.CompleteRun,
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := historyRun(a, args[0])
			if err != nil {
				return err
			}
			if env.ShowJSON(a, k) {
				return nil
			}
			fmt.Fprintf(a.Stdout, "%s  %s  %s  %s  %s ms\n", k.ID, k.Start.Local().Format("2006-01-02 15:04:05"), k.Target, k.Status, output.Milliseconds(k.Total))
			fmt.Fprintf(a.Stdout, "→ %s %s\n", k.Method, k.Params)
			switch {
			case k.Error != nil:
				fmt.Fprintf(a.Stdout, "← %s\n", k.Error)
			case k.Result != nil:
				fmt.Fprintf(a.Stdout, "← %s\n", k.Result)
			case k.Message != "":
				fmt.Fprintf(a.Stdout, "✗ %s\n", cmp.Or(a.T(k.Message, k.MessageZH), k.Message))
			default:
				fmt.Fprintln(a.Stdout, a.T("the answer was too large to keep", "回答过大，未保存"))
			}
			return nil
		},
	}
}

func historyRerun(a *env.Env) *cobra.Command {
	var f target.Flags
	var save string
	cmd := target.NewCommand(a, "rerun ID [TARGET]", a.T("send a request again", "重新发送请求"), &f, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
			return command.UsageError(a, cmd, a.T("an ID is missing", "缺少 ID"))
		}
		k, err := historyRun(a, args[0])
		if err != nil {
			return err
		}
		m, err := targetAgain(a, cmd, &f, &k, args[1:])
		if err != nil {
			return err
		}
		return target.Once(cmd.Context(), a, &f, m, func(b *target.Connection) error {
			_, err := show(b, k.Method, k.Params, save, target.Answered)
			return err
		})
	})
	cmd.Long = a.T("Sends a request again, to the same target or to another one. Headers and variables are not recorded: give them again.",
		"重新发送请求，目标相同或另行指定。首次使用的请求头与环境变量不会保存，需要时请重新给出。")
	cmd.Flags().StringVar(&save, "save", "", a.T("write every block of the result to `DIR`", "将结果的每一块写入 `DIR`"))
	f.Shared = true
	cmd.ValidArgsFunction = target.CompleteRun
	f.AddOutput(a, cmd.Flags(), output.Formats)
	return cmd
}

// targetAgain returns the target that the command line names, or else the target
// of the run.
func targetAgain(a *env.Env, cmd *cobra.Command, f *target.Flags, k *history.KeptRun, words []string) (*target.Target, error) {
	from := k.From
	switch {
	case cmd.ArgsLenAtDash() >= 0:
		return target.TargetCommand(a, f, words[cmd.ArgsLenAtDash()-1:], nil)
	case len(words) > 0:
		return target.TargetWord(cmd.Context(), a, f, words[0], nil)
	case from == nil || !from.Complete():
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, "mcp-all-in-one history rerun "+k.ID+" TARGET", "%s", a.T("the target of this request was not recorded completely; name the target", "该请求的目标未完整保存，请指定目标"))
	}
	f.Protocol = cmp.Or(f.Protocol, from.Protocol)
	switch {
	case len(from.Command) > 0:
		return target.TargetCommand(a, f, from.Command, nil)
	case from.URL != "":
		return target.TargetURL(a, f, from.URL, nil)
	}
	f.Schema = cmp.Or(f.Schema, from.Schema)
	word := cmp.Or(from.Server, ".")
	return target.TargetWord(cmd.Context(), a, f, word, nil)
}

func historyExport(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "export [FILE]", Short: a.T("export the history as JSON", "将历史导出为 JSON"), Args: command.ArgCount(a, 0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			runs, err := target.OpenHistory().Export()
			if err != nil {
				return err
			}
			raw, err := json.MarshalIndent(runs, "", "  ")
			if err != nil {
				return err
			}
			raw = append(raw, '\n')
			if len(args) == 0 || args[0] == "-" {
				_, err = a.Stdout.Write(raw)
				return err
			}
			if err := os.WriteFile(args[0], raw, 0o600); err != nil {
				return env.Fail(env.ExitUsage, env.CodeUsage, "", "%v", err)
			}
			return nil
		},
	}
}

func historyImport(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: a.T("import an exported history; - is standard input", "导入已导出的历史；- 为标准输入"), Args: command.ArgCount(a, 1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := readInput(a, args[0])
			if err != nil {
				return env.Fail(env.ExitUsage, env.CodeUsage, "", "%v", err)
			}
			var runs []history.KeptRun
			if err := json.Unmarshal(data, &runs); err != nil {
				return env.Fail(env.ExitUsage, env.CodeUsage, "mcp-all-in-one history export FILE", "%s: %v", args[0], err)
			}
			if err := target.OpenHistory().Import(runs); err != nil {
				return env.Fail(env.ExitUsage, env.CodeUsage, "mcp-all-in-one history export FILE", "%s: %v", args[0], err)
			}
			fmt.Fprintf(a.Stderr, a.T(env.Many(len(runs), "%d request imported\n", "%d requests imported\n"), "%d 个请求已导入\n"), len(runs))
			return nil
		},
	}
}

func historyClear(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "clear", Short: a.T("delete the whole history", "清除全部历史"), Args: command.NoArgs(a),
		RunE: func(*cobra.Command, []string) error { return target.OpenHistory().Clear() },
	}
}
