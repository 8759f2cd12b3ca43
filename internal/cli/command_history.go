package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/probe"
)

func historyCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history",
		Short: a.t("what was sent before, here and in the console, and send it again", "查看并重发此前的请求（命令行与控制台共用）"),
		Long: a.t("The last 500 requests of the tester with their answers, of the command line and of the console.\nSecrets are replaced; --no-history leaves a request out.",
			"测试器最近 500 个请求及其回答，命令行与控制台共用。\n密钥会被替换；--no-history 不记录该请求。"),
		Example: "  mcp-all-in-one history\n  mcp-all-in-one history rerun 4kxq\n  mcp-all-in-one history rerun 4kxq https://staging.example.com/mcp\n" +
			"  mcp-all-in-one history export history.json",
		Args: noArgs(a),
		RunE: func(*cobra.Command, []string) error { return listHistory(a, "", 20) },
	}
	cmd.AddCommand(historyList(a), historyShow(a), historyRerun(a), historyExport(a), historyImport(a), historyClear(a))
	return cmd
}

func historyList(a *app) *cobra.Command {
	limit := 20
	cmd := &cobra.Command{
		Use: "ls [TARGET]", Aliases: []string{"list"}, Short: a.t("list the requests, the newest last", "列出请求，最新的在最后"), Args: argCount(a, 0, 1),
		RunE: func(_ *cobra.Command, args []string) error { return listHistory(a, strings.Join(args, ""), limit) },
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, a.t("at most so `MANY` (20)", "最多 `MANY` 条（20）"))
	return cmd
}

func listHistory(a *app, target string, limit int) error {
	runs, err := openHistory().List(target, "", "", limit)
	if err != nil {
		return err
	}
	if a.asJSON {
		writeLine(a.Stdout, map[string]any{"runs": runs})
		return nil
	}
	t := &table{head: []string{"ID", a.t("TIME", "时间"), a.t("TARGET", "目标"), a.t("METHOD", "方法"), a.t("NAME", "名称"), a.t("STATUS", "状态"), a.t("TOOK", "耗时")},
		none: a.t("nothing was sent yet", "还没有历史请求")}
	for i := len(runs) - 1; i >= 0; i-- {
		r := &runs[i]
		t.add(r.ID, r.Start.Local().Format("2006-01-02 15:04:05"), r.Target, r.Method, r.Name, r.Status, milliseconds(r.Total)+" ms")
	}
	a.print(t)
	return nil
}

func historyRun(a *app, id string) (probe.KeptRun, error) {
	k, ok := openHistory().Get(id)
	if !ok {
		return k, fail(exitUsage, codeUsage, "mcp-all-in-one history ls", "%s%q", a.t("the history has no one request with the id ", "历史中没有此 ID 的请求，或不止一个："), id)
	}
	return k, nil
}

func historyShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: a.t("show a request and its answer", "显示请求及其回答"), Args: argCount(a, 1, 1), ValidArgsFunction: completeRun,
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := historyRun(a, args[0])
			if err != nil {
				return err
			}
			if a.asJSON {
				writeLine(a.Stdout, k)
				return nil
			}
			fmt.Fprintf(a.Stdout, "%s  %s  %s  %s  %s ms\n", k.ID, k.Start.Local().Format("2006-01-02 15:04:05"), k.Target, k.Status, milliseconds(k.Total))
			fmt.Fprintf(a.Stdout, "→ %s %s\n", k.Method, k.Params)
			switch {
			case k.Error != nil:
				fmt.Fprintf(a.Stdout, "← %s\n", k.Error)
			case k.Result != nil:
				fmt.Fprintf(a.Stdout, "← %s\n", k.Result)
			case k.Message != "":
				fmt.Fprintf(a.Stdout, "✗ %s\n", cmp.Or(a.t(k.Message, k.MessageZH), k.Message))
			default:
				fmt.Fprintln(a.Stdout, a.t("the answer was too large to keep", "回答过大，未保存"))
			}
			return nil
		},
	}
}

func historyRerun(a *app) *cobra.Command {
	var f probeFlags
	var save string
	cmd := probeCommand(a, "rerun ID [TARGET]", a.t("send a request again", "重新发送请求"), &f, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
			return usageError(a, cmd, a.t("an ID is missing", "缺少 ID"))
		}
		k, err := historyRun(a, args[0])
		if err != nil {
			return err
		}
		m, err := aimAgain(a, cmd, &f, &k, args[1:])
		if err != nil {
			return err
		}
		return once(cmd.Context(), a, &f, m, func(b *bout) error {
			return showResource(b, k.Method, k.Params, save, func(x *probe.Exchange, m *aim) error { return answered(a, x, m) })
		})
	})
	cmd.Long = a.t("Send a request again, to the same target or to another one. Headers and variables of the first time are not kept: give them anew.",
		"重新发送请求，目标相同或另行指定。首次使用的请求头与环境变量不会保存，需要时请重新给出。")
	cmd.Flags().StringVar(&save, "save", "", a.t("write every block of the result to `DIR`", "将结果的每一块写入 `DIR`"))
	f.shared = true
	cmd.ValidArgsFunction = completeRun
	f.addOutput(a, cmd.Flags(), formats)
	return cmd
}

// aimAgain is the target that the command line names, else that of the run.
func aimAgain(a *app, cmd *cobra.Command, f *probeFlags, k *probe.KeptRun, words []string) (*aim, error) {
	from := k.From
	switch {
	case cmd.ArgsLenAtDash() >= 0:
		return aimCommand(a, f, words[cmd.ArgsLenAtDash()-1:], nil)
	case len(words) > 0:
		return aimWord(cmd.Context(), a, f, words[0], nil)
	case from == nil || !from.Complete():
		return nil, fail(exitUsage, codeUsage, "mcp-all-in-one history rerun "+k.ID+" TARGET", "%s", a.t("what it was sent to is not kept whole; name the target", "未完整保存其目标，请指定目标"))
	}
	if f.protocol == "" {
		f.protocol = from.Protocol
	}
	switch {
	case len(from.Command) > 0:
		return aimCommand(a, f, from.Command, nil)
	case from.URL != "":
		return aimURL(a, f, from.URL, nil)
	}
	if f.schema == "" {
		f.schema = from.Schema
	}
	word := from.Server
	if word == "" {
		word = "."
	}
	return aimWord(cmd.Context(), a, f, word, nil)
}

func historyExport(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "export [FILE]", Short: a.t("write the history as JSON, for the console too", "将历史导出为 JSON（控制台也可导入）"), Args: argCount(a, 0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			runs, err := openHistory().Export()
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
				return fail(exitUsage, codeUsage, "", "%v", err)
			}
			return nil
		},
	}
}

func historyImport(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: a.t("add a history that was exported; - is standard input", "导入已导出的历史；- 为标准输入"), Args: argCount(a, 1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			var data []byte
			var err error
			if args[0] == "-" {
				data, err = io.ReadAll(a.Stdin)
			} else {
				data, err = os.ReadFile(args[0])
			}
			if err != nil {
				return fail(exitUsage, codeUsage, "", "%v", err)
			}
			var runs []probe.KeptRun
			if err := json.Unmarshal(data, &runs); err != nil {
				return fail(exitUsage, codeUsage, "mcp-all-in-one history export FILE", "%s: %v", args[0], err)
			}
			if err := openHistory().Import(runs); err != nil {
				return fail(exitUsage, codeUsage, "mcp-all-in-one history export FILE", "%s: %v", args[0], err)
			}
			fmt.Fprintf(a.Stderr, "%d %s\n", len(runs), a.t("requests imported", "个请求已导入"))
			return nil
		},
	}
}

func historyClear(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "clear", Short: a.t("forget everything", "清除全部历史"), Args: noArgs(a),
		RunE: func(*cobra.Command, []string) error { return openHistory().Clear() },
	}
}
