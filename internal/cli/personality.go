package cli

import (
	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/client"
	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/manage"
	"mcp-all-in-one/internal/cli/other"
	"mcp-all-in-one/internal/cli/program"
	"mcp-all-in-one/internal/cli/run"
	"mcp-all-in-one/internal/env"
)

// roots maps the names of the personalities to their command trees.
func roots() map[string]func(*env.Env) *cobra.Command {
	return map[string]func(*env.Env) *cobra.Command{
		"mcp-all-in-one": mainRoot,
		"mcps-proxy":     program.ProxyRoot, "mcps_proxy": program.ProxyRoot,
		"mcpx": program.MCPXRoot, "mcpx-sse": program.MCPXSSERoot,
		"mcp-tester": program.TesterRoot,
	}
}

// mainRoot returns the command tree of mcp-all-in-one.
func mainRoot(a *env.Env) *cobra.Command {
	cmd := command.NewRoot(a, "mcp-all-in-one", a.T("Many MCP servers as one, in every protocol version", "将多个 MCP 服务器合并为一个，支持所有协议版本"))
	env.AddGlobalFlags(a, cmd.PersistentFlags())
	program.AddOldSpellings(a, cmd)
	for group, commands := range commands(a) {
		for _, c := range commands {
			c.GroupID = group
			cmd.AddCommand(c)
		}
	}
	return cmd
}

// commands returns the commands of mcp-all-in-one by help group.
func commands(a *env.Env) map[string][]*cobra.Command {
	return map[string][]*cobra.Command{
		command.GroupUse: program.ProbeCommands(a),
		command.GroupRun: {run.HTTPCommand(a), run.StdioCommand(a), run.DemoCommand(a), run.UICommand(a), run.StatusCommand(a), run.ServiceCommand(a), run.CostCommand(a), run.UsageCommand(a)},
		command.GroupManage: {
			manage.SearchCommand(a), manage.AddCommand(a), manage.UpdateCommand(a), manage.RemoveCommand(a), manage.EnableCommand(a, true), manage.EnableCommand(a, false), manage.RestartCommand(a), manage.ReloadCommand(a), manage.ApproveCommand(a), manage.LockCommand(a), manage.SandboxCommand(a),
			manage.ConfigCommand(a), manage.SecretCommand(a), manage.KeyCommand(a), manage.AuthCommand(a), manage.ClusterCommand(a),
		},
		command.GroupClient: {client.ImportCommand(a), client.ConnectCommand(a), client.DisconnectCommand(a), client.ExportCommand(a), client.RunCommand(a)},
		command.GroupOther:  {run.VersionCommand(a), other.CompletionCommand(a), other.ExplainCommand(a), other.DoctorCommand(a), other.UpgradeCommand(a)},
	}
}
