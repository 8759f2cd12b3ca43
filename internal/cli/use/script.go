package use

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

// scriptFlags are the flags of script.
type scriptFlags struct {
	target.Flags
	at          string
	args        []string
	seed        uint64
	server, url string
}

// ScriptCommand returns the command that runs a script that calls tools.
func ScriptCommand(a *env.Env) *cobra.Command {
	var f scriptFlags
	cmd := target.NewCommand(a, "script FILE|-", a.T("run a script that calls tools", "运行调用工具的脚本"), &f.Flags,
		func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.UsageError(a, cmd, a.T("give one file, or - for standard input", "请给出一个文件，或用 - 表示标准输入"))
			}
			params, err := scriptParams(a, &f, args[0])
			if err != nil {
				return err
			}
			m, err := target.Hosted(cmd.Context(), a, cmd, &f.Flags, f.server, f.url)
			if err != nil {
				return err
			}
			return target.Once(cmd.Context(), a, &f.Flags, m, func(b *target.Connection) error { return runScript(b, params) })
		})
	cmd.Long = a.T("Runs JavaScript that calls tools of the configured servers, through the running gateway if there is one.\n"+
		"What the script returns goes to standard output, what it logs to standard error.\nScripts of the configuration are tools: run them with call.",
		"运行调用已配置服务器的工具的 JavaScript；若网关正在运行则经由网关。\n脚本的返回值写到标准输出，日志写到标准错误。\n配置中的脚本是工具：用 call 运行。")
	cmd.Example = "  echo 'return await tools.demo.add({a: 1, b: 2})' | mcp-all-in-one script -\n" +
		"  mcp-all-in-one script report.js --arg day=monday --arg top:=5\n" +
		"  mcp-all-in-one script report.js --url https://mcp.example.com/mcp"
	flags := cmd.Flags()
	flags.StringArrayVar(&f.args, "arg", nil, a.T("`NAME=VALUE` or NAME:=JSON, in the global args", "全局变量 args 中的 `NAME=VALUE` 或 NAME:=JSON"))
	flags.StringVar(&f.server, "server", "", a.T("use only the configured server `NAME`", "只使用已配置的服务器 `NAME`"))
	flags.StringVar(&f.url, "url", "", a.T("use only the server at `URL`; the script calls it tools.server", "只使用 `URL` 处的服务器；在脚本中为 tools.server"))
	flags.StringVar(&f.at, "at", "", a.T("stop the clock of the script at `TIME`, such as 2026-01-02T15:04:05Z", "让脚本的时钟停在 `TIME`，如 2026-01-02T15:04:05Z"))
	flags.Uint64Var(&f.seed, "seed", 0, a.T("seed Math.random with `N`", "以 `N` 为 Math.random 的种子"))
	f.Shared = true
	return cmd
}

// scriptParams returns the params of the call that runs a script.
func scriptParams(a *env.Env, f *scriptFlags, name string) ([]byte, error) {
	code, err := readInput(a, name)
	if err != nil {
		return nil, &env.ExitError{Code: env.ExitUsage, ID: env.CodeUsage, Err: i18n.Errorf("reading the script: %w", "读取脚本失败：%w", err),
			Hint: a.T("give the path of a JavaScript file, or - for standard input: ", "请给出 JavaScript 文件的路径，或用 - 表示标准输入：") + "echo 'return 1' | " + a.Again("script", "-")}
	}
	parser := &probe.ArgumentParser{Any: true}
	args, err := parser.Parse(json.RawMessage(`{}`), f.args)
	if err != nil {
		return nil, env.Fail(env.ExitUsage, env.CodeArgument, "", "--arg: %v", err)
	}
	arguments := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(string(code)), "code")
	arguments = jsonrpc.Set(arguments, args, "args")
	if a.Lang != i18n.English {
		arguments = jsonrpc.Set(arguments, jsonrpc.Quote(a.Lang.Tag()), "lang")
	}
	if f.seed != 0 {
		arguments = jsonrpc.Set(arguments, fmt.Append(nil, f.seed), "seed")
	}
	if f.at != "" {
		if _, err := time.Parse(time.RFC3339, f.at); err != nil {
			return nil, env.Fail(env.ExitUsage, env.CodeUsage, "", "--at: %v", i18n.Errorf("%q is no time such as 2026-01-02T15:04:05Z", "%q 不是时间，例如 2026-01-02T15:04:05Z", f.at))
		}
		arguments = jsonrpc.Set(arguments, jsonrpc.Quote(f.at), "at")
	}
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(mcp.ScriptTool), "name")
	return jsonrpc.Set(params, arguments, "arguments"), nil
}

// runScript runs a script and prints its result.
func runScript(b *target.Connection, params []byte) error {
	a := b.Env
	x, err := b.Ask(mcp.MethodToolsCall, params)
	if err != nil {
		return err
	}
	out := a.Stdout
	if x.IsToolError() {
		out = a.Stderr
	}
	for block := range jsonrpc.Elements(jsonrpc.Get(x.Result, "content")) {
		text, ok := jsonrpc.GetString(block, "text")
		if !ok {
			text = string(block)
		}
		fmt.Fprintln(out, text)
		out = a.Stderr // the log follows the value
	}
	if x.IsToolError() {
		return env.Silent(env.ExitTool)
	}
	return nil
}
