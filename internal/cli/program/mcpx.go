package program

import (
	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/daemon"
	"mcp-all-in-one/internal/env"
)

// MCPXRoot returns the root command of mcpx: compact mode over stdio.
func MCPXRoot(a *env.Env) *cobra.Command {
	f := daemon.ServeFlags{NoSelfConfig: true}
	cmd := mcpxCommand(a, "mcpx [CONFIG]", a.T(
		"All tools of all servers behind two, inspect and exec, over stdio",
		"以 inspect 和 exec 两个工具代表所有服务器的全部工具（stdio）"), &f)
	cmd.Example = "  mcpx config.json"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		command.TakeConfig(a, args)
		return daemon.ServeStdio(cmd.Context(), a, f)
	}
	command.AddVersion(a, cmd)
	return cmd
}

// MCPXSSERoot returns the root command of mcpx-sse: compact mode over HTTP.
func MCPXSSERoot(a *env.Env) *cobra.Command {
	f := daemon.ServeFlags{NoSelfConfig: true, NoUI: true, Endpoint: "/mcp/"}
	cmd := mcpxCommand(a, "mcpx-sse [CONFIG]", a.T(
		"All tools of all servers behind two, inspect and exec, over HTTP",
		"以 inspect 和 exec 两个工具代表所有服务器的全部工具（HTTP）"), &f)
	cmd.Example = "  mcpx-sse config.json\n  mcpx-sse config.json --port 8080"
	addAddress(a, cmd, &f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		command.TakeConfig(a, args)
		return daemon.ServeHTTP(cmd.Context(), a, f)
	}
	command.AddVersion(a, cmd)
	return cmd
}

func mcpxCommand(a *env.Env, use, short string, f *daemon.ServeFlags) *cobra.Command {
	f.Port = -1
	cmd := command.NewRoot(a, use, short)
	cmd.Args = command.ArgCount(a, 0, 1)
	flags := cmd.Flags()
	flags.StringVarP(&a.ConfigPath, "config", "c", "", a.T("config `FILE` (~/.mcpx/config.json)", "配置文件 `FILE`（~/.mcpx/config.json）"))
	flags.BoolVar(&a.Project, "project", false, a.T("use ./config.json; its servers need approval", "使用 ./config.json；其中的服务器需要批准"))
	flags.BoolVar(&a.Insecure, "allow-insecure-config", false, a.T("accept a config file that others may write", "接受其他用户可写的配置文件"))
	command.AddLogFlags(&f.Log, a, flags)
	return cmd
}

func addAddress(a *env.Env, cmd *cobra.Command, f *daemon.ServeFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.Host, "host", "", a.T("`ADDRESS` to listen on (127.0.0.1)", "监听地址 `ADDRESS`（127.0.0.1）"))
	flags.IntVar(&f.Port, "port", -1, a.T("`PORT` to listen on (8000)", "监听端口 `PORT`（8000）"))
}
