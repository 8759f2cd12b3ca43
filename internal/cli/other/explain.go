// Package other implements the commands that belong to no other group.
package other

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/doctor"
	"mcp-all-in-one/internal/env"
)

func ExplainCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE]",
		Short:   a.T("explain an error code, or list them all", "解释错误代码，或列出全部代码"),
		Example: "  mcp-all-in-one explain AIO2009",
		Args:    command.ArgCount(a, 0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				listCodes(a)
				return nil
			}
			code := strings.ToUpper(args[0])
			for _, code := range []string{code, "AIO" + code} {
				if e, ok := env.Explain(code); ok {
					fmt.Fprintf(a.Stdout, "%s\n%s\n", code, a.T(e.EN, e.ZH))
					return nil
				}
			}
			return env.Fail(env.ExitUsage, env.CodeUsage, "mcp-all-in-one explain", "%s", a.T("there is no error code "+code, "没有错误代码 "+code))
		},
	}
}

// listCodes lists all error codes, each with the first sentence of its
// explanation.
func listCodes(a *env.Env) {
	type row struct {
		Code  string `json:"code"`
		Title string `json:"title"`
	}
	rows, t := []row{}, &env.Table{Head: []string{a.T("CODE", "代码"), a.T("MEANING", "含义")}}
	for _, code := range env.Codes() {
		e, _ := env.Explain(code)
		title := env.FirstSentence(a.T(e.EN, e.ZH))
		rows = append(rows, row{code, title})
		t.Add(code, title)
	}
	env.Show(a, rows, t)
}

func CompletionCommand(a *env.Env) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: a.T("print the completion script of a shell: bash, zsh, fish or powershell", "输出命令补全脚本：bash、zsh、fish 或 powershell"),
		Example: "  source <(mcp-all-in-one completion bash)\n" +
			"  mcp-all-in-one completion fish > ~/.config/fish/completions/mcp-all-in-one.fish",
		ValidArgs: shells,
		Args:      command.ArgCount(a, 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.Stdout)
			case "fish":
				return root.GenFishCompletion(a.Stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Stdout)
			}
			return env.Fail(env.ExitUsage, env.CodeUsage, "mcp-all-in-one completion bash|zsh|fish|powershell", "%s%s", a.T("unknown shell ", "未知的 shell "), args[0])
		},
	}
}

func DoctorCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [SERVER]",
		Short: a.T("find problems and suggest fixes", "检查问题并给出修正建议"),
		Long: a.T("Checks the config file and its servers, and prints each problem with a fix. It asks the\nrunning gateway; without one it starts all servers for a moment. The exit code is 4 if a\nserver is down.",
			"检查配置文件及其中的服务器，说明问题与修正方法：询问正在运行的网关；没有网关时同时\n短暂启动所有服务器。有服务器不可用时退出码为 4。"),
		Args: command.ArgCount(a, 0, 1), ValidArgsFunction: command.CompleteServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return doctor.Examine(cmd.Context(), a, strings.Join(args, ""))
		},
	}
}
