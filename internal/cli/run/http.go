// Package run implements the commands that start a gateway or show its state.
package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/daemon"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcpserver"
)

func HTTPCommand(a *env.Env) *cobra.Command {
	var f daemon.ServeFlags
	cmd := &cobra.Command{
		Use:     "http",
		Aliases: []string{"serve", "sse"},
		Short:   a.T("serve over HTTP, with the console", "以 HTTP 提供服务，带控制台"),
		Args:    command.NoArgs(a),
		Example: "  mcp-all-in-one http\n  mcp-all-in-one http --port 8080 --watch\n  mcp-all-in-one http -h 127.0.0.1 -p 3095 -c ~/mcp.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"node", "peer", "engine", "join"} {
				if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
					return command.UsageError(a, cmd, fmt.Sprintf(a.T("--%s needs a value", "--%s 需要一个值"), name))
				}
			}
			if c := &a.Cluster; c.Join != "" && (c.Peer != "" || c.Engine != "") {
				return env.Fail(env.ExitUsage, env.CodeUsage, a.T("leave out --peer and --engine", "请去掉 --peer 与 --engine"), "%s", a.T("--join opens no port and uses NATS: it cannot be given with --peer or --engine", "--join 不打开端口且使用 NATS：不能与 --peer 或 --engine 同时使用"))
			}
			switch {
			case !cmd.Flags().Changed("port"):
				f.Port = -1
			case f.Port < 0 || f.Port > 65535:
				return env.Fail(env.ExitUsage, env.CodePort, a.T("a number from 0 to 65535; 0 takes a free one", "0 到 65535 之间的数；0 表示任选空闲端口"), "%s", a.T(fmt.Sprintf("%d is not a port", f.Port), fmt.Sprintf("%d 不是端口", f.Port)))
			}
			cors, err := cmd.Flags().GetBool("cors")
			f.NoCORS = err == nil && !cors
			return daemon.ServeHTTP(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	// -h meant the host here before it meant help anywhere; see BareHelp.
	flags.StringVarP(&f.Host, "host", "h", "", a.T("`ADDRESS` to listen on (127.0.0.1); -h alone is help", "监听地址 `ADDRESS`（127.0.0.1）；单独的 -h 显示帮助"))
	flags.Bool("help", false, "")
	flags.IntVarP(&f.Port, "port", "p", a.Personality.Port, a.T("`PORT` to listen on; 0 takes a free one (3095)", "监听端口 `PORT`；0 为任意空闲端口（3095）"))
	flags.BoolVar(&f.Open, "open", false, a.T("open the console in the browser", "在浏览器中打开控制台"))
	flags.Bool("cors", true, a.T("answer web pages of the configured origins", "响应已配置来源的网页"))
	flags.StringVar(&f.CORSOrigin, "cors-origin", "", a.T("one more allowed `ORIGIN` of web pages", "额外允许的网页来源 `ORIGIN`"))
	flags.BoolVar(&f.Watch, "watch", false, a.T("apply changes of the config file", "配置文件变化时自动生效"))
	flags.BoolVar(&f.NoUI, "no-ui", false, a.T("do not serve the console", "不提供控制台"))
	flags.BoolVar(&f.Locked, "locked", false, a.T("start only servers that match mcp.lock", "只启动与 mcp.lock 一致的服务器"))
	flags.BoolVar(&f.NoSelfConfig, "no-self-config", false, a.T("hide the tools that change the configuration", "隐藏修改配置的工具"))
	flags.BoolVar(&f.AnyOrigin, "allow-any-origin", false, a.T("accept web pages of any origin", "允许任意来源的网页"))
	flags.StringVar(&f.Compat, "compat", "", a.T("`FORM` of some answers: auto, spec (the specification) or seed (mcps-proxy and mcpx)", "部分应答的形式 `FORM`：auto、spec（规范）或 seed（mcps-proxy 与 mcpx）"))
	flags.StringVar(&a.Cluster.Node, "node", "", a.T("`NAME` of this gateway in the cluster, in place of cluster.node", "本网关在集群中的名称 `NAME`，代替 cluster.node"))
	flags.StringVar(&a.Cluster.Peer, "peer", "", a.T("`ADDRESS` and port for the other gateways of the cluster, in place of cluster.peer", "供集群中其他网关访问的地址与端口 `ADDRESS`，代替 cluster.peer"))
	flags.StringVar(&a.Cluster.Engine, "engine", "", a.T("`ENGINE` of the cluster, none or nats, in place of cluster.engine", "集群的引擎 `ENGINE`：none 或 nats，代替 cluster.engine"))
	flags.StringVar(&a.Cluster.Join, "join", "", a.T("join a cluster through its NATS at `URL` (wss://, tls://, nats://), with no port for other gateways", "经由 `URL` 处的 NATS（wss://、tls://、nats://）加入集群，不为其他网关打开端口"))
	command.AddLogFlags(&f.Log, a, flags)
	return cmd
}

// BareHelp replaces a -h without a value by --help. In these commands -h takes
// an address; in all others it is help.
func BareHelp(args []string, command int) []string {
	if command < 0 || !slices.Contains([]string{"http", "serve", "sse"}, args[command]) {
		return args
	}
	for i := command + 1; i < len(args) && args[i] != "--"; i++ {
		if args[i] == "-h" && (i+1 == len(args) || strings.HasPrefix(args[i+1], "-")) {
			args = slices.Clone(args)
			args[i] = "--help"
		}
	}
	return args
}

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
