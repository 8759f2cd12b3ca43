package run

import (
	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcpserver"
)

func DemoCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: a.T("run a small demo server over stdio", "运行一个小型演示服务器（stdio）"),
		Args:  command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return mcpserver.Demo().ServeStdio(cmd.Context(), a.Stdin, env.Stream(a.Stdout))
		},
	}
}
