package command

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon"
	"mcp-all-in-one/internal/env"
)

// TakeConfig takes the path of the config file from the arguments.
func TakeConfig(a *env.Env, args []string) {
	if len(args) > 0 {
		a.ConfigPath = args[0]
	}
}

func AddSchemaFlag(a *env.Env, cmd *cobra.Command, schema *string) {
	cmd.Flags().StringVar(schema, "schema", config.DefaultSchema, a.T("schema `NAME` (default)", "schema `NAME`（default）"))
}

// CompleteServers completes the names of configured servers.
func CompleteServers(a *env.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		cfg, err := a.Load(false)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, row := range control.ConfiguredServers(cfg, nil) {
			names = append(names, row.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func AddLogFlags(f *daemon.LogFlags, a *env.Env, flags *pflag.FlagSet) {
	flags.StringVarP(&f.Level, "log-level", "l", "", a.T("`LEVEL`: error, warn, info or debug", "日志级别 `LEVEL`：error、warn、info 或 debug"))
	flags.BoolVarP(&f.Silent, "silent", "s", false, a.T("write no log", "不输出日志"))
}
