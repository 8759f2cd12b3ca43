package run

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
)

func DemoCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: a.T("run a small demo server over stdio", "运行一个小型演示服务（stdio）"),
		Args:  command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return mcpserver.Demo().ServeStdio(cmd.Context(), a.Stdin, env.Stream(a.Stdout))
		},
	}
}

func VersionCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: a.T("print the version", "显示版本"),
		Args:  command.NoArgs(a),
		RunE: func(*cobra.Command, []string) error {
			if a.JSON {
				b := mcp.ThisBuild()
				env.WriteLine(a.Stdout, map[string]any{"name": a.Personality.Name, "version": mcp.ProductVersion, "commit": b.Commit, "date": b.Date,
					"go": b.Go, "platform": runtime.GOOS + "/" + runtime.GOARCH, "protocols": mcp.AllVersions()})
				return nil
			}
			fmt.Fprintf(a.Stdout, "%s %s (%s)\n", a.Personality.Name, mcp.ProductVersion, command.Build(a))
			return nil
		},
	}
}
