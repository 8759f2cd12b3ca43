package program

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/daemon"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcp"
)

// proxyFlags are the flags of mcps-proxy.
type proxyFlags struct {
	http, stdio, version bool
	port                 string
	serve                daemon.ServeFlags
}

// ProxyRoot returns the root command of mcps-proxy: HTTP with all schemas, or
// stdio with one.
func ProxyRoot(a *env.Env) *cobra.Command {
	var f proxyFlags
	cmd := command.NewRoot(a, "mcps-proxy [--http | --stdio [--schema NAME]]", a.T(
		"Groups of MCP servers behind one address, or one group over stdio",
		"以一个地址提供多组 MCP 服务器，或以 stdio 提供其中一组"))
	cmd.Long = cmd.Short + "\n\n" + a.T(
		"A schema is a named group of servers in the config file. HTTP mode serves all\nenabled schemas, each at /api/NAME/mcp. STDIO mode serves one schema to one client\nand starts no other.",
		"schema 是配置文件中一组服务器的名称。HTTP 模式提供所有已启用的 schema，各自位于\n/api/NAME/mcp。STDIO 模式只为一个客户端提供一个 schema，不启动其他 schema。")
	cmd.Example = `  mcps-proxy
  mcps-proxy --port 8080
  mcps-proxy --stdio
  mcps-proxy --stdio --schema=workspace
  echo '{"jsonrpc":"2.0","method":"tools/list","id":1}' | mcps-proxy --stdio --schema workspace`
	flags := cmd.Flags()
	flags.BoolVar(&f.http, "http", false, a.T("HTTP mode, the default", "HTTP 模式（默认）"))
	flags.BoolVar(&f.stdio, "stdio", false, a.T("STDIO mode: JSON-RPC 2.0 over standard input and output", "STDIO 模式：标准输入输出上的 JSON-RPC 2.0"))
	flags.StringVar(&f.serve.Schema, "schema", "", a.T("the schema `NAME` to serve in STDIO mode (default)", "STDIO 模式提供的 schema `NAME`（default）"))
	flags.StringVar(&f.port, "port", "", a.T("`PORT` of HTTP mode; wins over the config file (3095)", "HTTP 模式的端口 `PORT`，优先于配置文件（3095）"))
	flags.StringVar(&a.ConfigPath, "config", "", a.T("config `PATH` (~/.mcps-proxy/config.json)", "配置文件 `PATH`（~/.mcps-proxy/config.json）"))
	flags.BoolVar(&f.serve.Watch, "watch", false, a.T("apply changes of the config file", "配置文件变化时自动生效"))
	flags.BoolVar(&f.serve.NoSelfConfig, "no-self-config", false, a.T("hide the tools that change the configuration", "隐藏修改配置的工具"))
	flags.BoolVar(&a.Insecure, "allow-insecure-config", false, a.T("accept a config file that others may write", "接受其他用户可写的配置文件"))
	command.AddLogFlags(&f.serve.Log, a, flags)
	flags.BoolVar(&f.version, "version", false, a.T("print the version", "显示版本"))
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runProxy(a, cmd, f, args) }
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return proxyFlagError(a, cmd, err) })
	return cmd
}

func runProxy(a *env.Env, cmd *cobra.Command, f proxyFlags, args []string) error {
	if f.version {
		fmt.Fprintf(a.Stdout, "%s\n", mcp.ProductVersion)
		return nil
	}
	if len(args) > 0 {
		return proxyUsage(a, cmd, "Unknown option "+args[0])
	}
	switch {
	case f.http && f.stdio:
		return proxyFailure(a, "Cannot specify both --http and --stdio modes",
			a.T("choose one of the two", "只能选择其中一种模式"), "mcps-proxy --stdio --schema=default")
	case cmd.Flags().Changed("schema") && !f.stdio:
		return proxyFailure(a, "--schema can only be used with --stdio mode",
			a.T("add --stdio; in HTTP mode every schema has its own URL", "加上 --stdio；HTTP 模式下每个 schema 有自己的地址"), "mcps-proxy --stdio --schema=default")
	}
	f.serve.Port = -1
	if cmd.Flags().Changed("port") {
		n, err := strconv.Atoi(f.port)
		if err != nil || n < 1 || n > 65535 {
			return proxyFailure(a, "Invalid port number", a.T("a port is a number from 1 to 65535", "端口是 1 到 65535 的数字"), "mcps-proxy --port 8080")
		}
		f.serve.Port = n
	}
	if f.stdio {
		return daemon.ServeStdio(cmd.Context(), a, f.serve)
	}
	return daemon.ServeHTTP(cmd.Context(), a, f.serve)
}

// proxyFailure returns an error with a suggestion and an example.
func proxyFailure(a *env.Env, text, suggestion, example string) error {
	return &env.ExitError{Code: env.ExitFailure, Plain: true, Err: errors.New(text), Hint: suggestion,
		Details: []env.Detail{{Label: a.T("example", "示例"), Text: example}}}
}

// proxyUsage prints an error about a bad option, followed by the help.
func proxyUsage(a *env.Env, cmd *cobra.Command, text string) error {
	fmt.Fprintf(a.Stderr, "Error: %s\n\n", text)
	command.WriteHelp(a, a.Stderr, cmd)
	return env.Silent(env.ExitFailure)
}

func proxyFlagError(a *env.Env, cmd *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if missing.GetSpecifiedShortnames() != "" {
			return proxyUsage(a, cmd, "Unknown option -"+missing.GetSpecifiedName())
		}
		return proxyUsage(a, cmd, "Unknown option --"+missing.GetSpecifiedName())
	}
	return proxyUsage(a, cmd, command.FlagMessage(a, err))
}
