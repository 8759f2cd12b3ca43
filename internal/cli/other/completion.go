package other

import (
	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/env"
)

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
