package run

import (
	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/daemon"
	"mcp-all-in-one/internal/env"
)

func StdioCommand(a *env.Env) *cobra.Command {
	var f daemon.ServeFlags
	cmd := &cobra.Command{
		Use:     "stdio",
		Short:   a.T("serve one client over standard input and output", "通过标准输入输出服务一个客户端"),
		Args:    command.NoArgs(a),
		Example: "  mcp-all-in-one stdio --mcp-config ~/.mcp-all-in-one/mcp.json\n  mcp-all-in-one stdio --schema workspace",
		RunE:    func(cmd *cobra.Command, _ []string) error { return daemon.ServeStdio(cmd.Context(), a, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Schema, "schema", "", a.T("schema `NAME` to serve (default)", "要提供的 schema `NAME`（default）"))
	flags.BoolVar(&f.Watch, "watch", false, a.T("apply changes of the config file", "配置文件变化时自动生效"))
	flags.BoolVar(&f.Locked, "locked", false, a.T("start only servers that match mcp.lock", "只启动与 mcp.lock 一致的服务器"))
	flags.BoolVar(&f.NoSelfConfig, "no-self-config", false, a.T("hide the tools that change the configuration", "隐藏修改配置的工具"))
	flags.StringVar(&f.Compat, "compat", "", a.T("`FORM` of some answers: auto, spec (the specification) or seed (mcps-proxy and mcpx)", "部分应答的形式 `FORM`：auto、spec（规范）或 seed（mcps-proxy 与 mcpx）"))
	command.AddLogFlags(&f.Log, a, flags)
	return cmd
}
