package cli

import "github.com/spf13/cobra"

// mcpxRoot is mcpx: compact mode over stdio.
func mcpxRoot(a *app) *cobra.Command {
	f := serveFlags{noSelfConfig: true}
	cmd := mcpxCommand(a, "mcpx [CONFIG]", a.t(
		"All tools of all servers behind two, inspect and exec, over stdio",
		"以 inspect 和 exec 两个工具代表所有服务的全部工具（stdio）"), &f)
	cmd.Example = "  mcpx config.json"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		takeConfig(a, args)
		return serveStdio(cmd.Context(), a, f)
	}
	return cmd
}

// mcpxSSERoot is mcpx-sse: compact mode over HTTP.
func mcpxSSERoot(a *app) *cobra.Command {
	f := serveFlags{noSelfConfig: true, noUI: true, endpoint: "/mcp/"}
	cmd := mcpxCommand(a, "mcpx-sse [CONFIG]", a.t(
		"All tools of all servers behind two, inspect and exec, over HTTP",
		"以 inspect 和 exec 两个工具代表所有服务的全部工具（HTTP）"), &f)
	cmd.Example = "  mcpx-sse config.json\n  mcpx-sse config.json --port 8080"
	addAddress(a, cmd, &f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		takeConfig(a, args)
		return serveHTTP(cmd.Context(), a, f)
	}
	return cmd
}

func mcpxCommand(a *app, use, short string, f *serveFlags) *cobra.Command {
	f.port = -1
	cmd := newRoot(a, use, short)
	cmd.Args = argCount(a, 0, 1)
	flags := cmd.Flags()
	flags.StringVarP(&a.configPath, "config", "c", "", a.t("config `FILE` (~/.mcpx/config.json)", "配置文件 `FILE`（~/.mcpx/config.json）"))
	flags.BoolVar(&a.project, "project", false, a.t("use ./config.json; its servers need approval", "使用 ./config.json；其中的服务需要批准"))
	flags.BoolVar(&a.insecure, "allow-insecure-config", false, a.t("accept a config file that others may write", "接受其他用户可写的配置文件"))
	addLogFlags(&f.log, a, flags)
	addVersion(a, cmd)
	return cmd
}

func addAddress(a *app, cmd *cobra.Command, f *serveFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.host, "host", "", a.t("`ADDRESS` to listen on (127.0.0.1)", "监听地址 `ADDRESS`（127.0.0.1）"))
	flags.IntVar(&f.port, "port", -1, a.t("`PORT` to listen on (8000)", "监听端口 `PORT`（8000）"))
}

// takeConfig reads the config file from the arguments.
func takeConfig(a *app, args []string) {
	if len(args) > 0 {
		a.configPath = args[0]
	}
}
