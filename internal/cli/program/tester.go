package program

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/daemon"
	"mcp-all-in-one/internal/env"
)

// maxPortAttempts is the number of ports that mcp-tester tries.
const maxPortAttempts = 100

// TesterRoot returns the root command of mcp-tester: the console, in the
// browser.
func TesterRoot(a *env.Env) *cobra.Command {
	f := daemon.ServeFlags{NoSelfConfig: true, Open: true, Attempts: maxPortAttempts}
	var stay, show, join, serve bool
	var linger time.Duration
	cmd := command.NewRoot(a, "mcp-tester", a.T("Try any MCP server in the browser", "在浏览器中测试任意 MCP 服务器"))
	cmd.Args = command.NoArgs(a)
	cmd.Example = "  mcp-tester\n  mcp-tester --port 8080 --no-open\n  mcp-tester prompt greeting -- mcp-all-in-one demo"
	flags := cmd.PersistentFlags()
	flags.StringVarP(&a.ConfigPath, "config", "c", "", a.T("config `FILE`; not required", "配置文件 `FILE`（可选）"))
	flags.BoolFunc("json", a.T("write JSON", "输出 JSON"), a.SetJSON)
	var names []string
	for _, c := range ProbeCommands(a) {
		c.GroupID, c.Hidden = command.GroupUse, true // mcp-all-in-one --help describes them
		cmd.AddCommand(c)
		names = append(names, c.Name())
	}
	slices.Sort(names)
	cmd.Long = cmd.Short + a.T(". With one of these words it is that\ncommand of mcp-all-in-one, without a browser:\n", "。带以下命令之一时，\n等同于 mcp-all-in-one 的该命令，不打开浏览器：\n") + wrapWords(names)
	flags = cmd.Flags()
	flags.IntVar(&f.Port, "port", -1, a.T("`PORT` to listen on (3095, or the next free one)", "监听端口 `PORT`（3095 或下一个空闲端口）"))
	flags.BoolVar(&stay, "no-open", false, a.T("do not open the browser", "不打开浏览器"))
	flags.BoolVar(&show, "print", false, a.T("print the address with its one-time code instead of opening the browser", "输出带一次性代码的地址，不打开浏览器"))
	flags.BoolVar(&join, "shared", false, a.T("print the address of the background tester that editors share; starts it if needed", "输出编辑器共用的后台测试器的地址，未运行时启动它"))
	flags.DurationVar(&linger, "linger", time.Minute, a.T("end the shared tester `TIME` after its last user has left (1m)", "最后一个使用者离开 `TIME` 后结束共用测试器（1m）"))
	flags.BoolVar(&serve, "serve-shared", false, "")
	if err := flags.MarkHidden("serve-shared"); err != nil {
		panic(err) // it is defined above
	}
	command.AddLogFlags(&f.Log, a, flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch s := newShared(a, linger); {
		case serve:
			return s.serve(cmd.Context(), f)
		case join:
			return s.print(cmd.Context())
		}
		f.Open, f.Show = !stay && !show, show
		return daemon.ServeHTTP(cmd.Context(), a, f)
	}
	command.AddVersion(a, cmd)
	return cmd
}

// wrapWords formats words as indented lines.
func wrapWords(words []string) string {
	const width = 80
	text, line := "", " "
	for _, w := range words {
		if len(line)+len(w) >= width {
			text, line = text+line+"\n", " "
		}
		line += " " + w
	}
	return text + line
}
