package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

func demoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: a.t("be a small MCP server to try things with, over stdio", "作为演示用的 MCP 服务（stdio）"),
		Args:  noArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return mcptest.Demo().ServeStdio(cmd.Context(), a.Stdin, a.Stdout)
		},
	}
}

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: a.t("print the version", "显示版本"),
		Args:  noArgs(a),
		RunE: func(*cobra.Command, []string) error {
			if a.asJSON {
				writeLine(a.Stdout, map[string]any{"name": a.personality.name, "version": mcp.ProductVersion, "protocols": mcp.AllVersions()})
				return nil
			}
			fmt.Fprintf(a.Stdout, "%s %s (%s/%s)\n", a.personality.name, mcp.ProductVersion, runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
