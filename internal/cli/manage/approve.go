package manage

import (
	"bufio"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
)

func ApproveCommand(a *env.Env) *cobra.Command {
	var yes, noSandbox bool
	cmd := serverCommand(a, "approve", a.T("approve a server that a client has added", "批准客户端添加的服务器"), nil,
		func(cmd *cobra.Command, schema, name string) error {
			return approve(a, cmd, schema, name, yes, noSandbox)
		})
	cmd.Long = a.T("Shows what a server that waits for approval would run, and lets it start after a yes. For a server that runs it shows how its tools have changed, and accepts them. Without a name it lists what waits.",
		"显示等待批准的服务器将运行的内容，确认后允许其启动。对正在运行的服务器，显示其工具的变化并接受。不带名称时列出等待批准的内容。")
	cmd.Use, cmd.Args = "approve [NAME]", command.ArgCount(a, 0, 1)
	one := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return listWaiting(a)
		}
		return one(cmd, args)
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, a.T("do not ask", "不再询问"))
	cmd.Flags().BoolVar(&noSandbox, "no-sandbox", false, a.T("run it without a sandbox, unless its entry has one", "不经隔离运行，除非条目自带沙箱"))
	return cmd
}

// waiting is a server that needs approval, or whose tools have changed.
type waiting struct {
	Schema  string   `json:"schema"`
	Name    string   `json:"name"`
	New     bool     `json:"new"`
	Changed []string `json:"changed,omitempty"`
}

// listWaiting lists the servers that need approval.
func listWaiting(a *env.Env) error {
	cfg, err := a.Load(false)
	if err != nil {
		return err
	}
	list, t := []waiting{}, &env.Table{Head: []string{a.T("SERVER", "服务器"), "SCHEMA", a.T("WAITS FOR", "等待")},
		None: a.T("nothing waits for approval", "没有等待批准的内容")}
	for _, schema := range cfg.Schemas {
		for _, s := range schema.Servers {
			w := waiting{Schema: schema.Name, Name: s.Name, New: s.Waits() != nil}
			what := a.T("first start", "首次启动")
			if s.Waiting != nil {
				what = a.T("its new entry; the old one still runs", "新条目；原条目仍在运行")
			}
			if !w.New {
				for _, c := range pins().Changed(s.ID()) {
					w.Changed = append(w.Changed, c.Name)
				}
				what = a.T("changed: ", "变更：") + strings.Join(w.Changed, ", ")
			}
			if w.New || len(w.Changed) > 0 {
				list = append(list, w)
				t.Add(w.Name, w.Schema, what)
			}
		}
	}
	env.Show(a, list, t)
	return nil
}

// approve shows the whole entry as it is written and asks for confirmation. If
// the entry changed meanwhile, approve shows it again.
func approve(a *env.Env, cmd *cobra.Command, schema, name string, yes, noSandbox bool) error {
	for {
		cfg, err := a.Load(false)
		if err != nil {
			return err
		}
		s := cfg.Schema(schema).Server(name)
		if s == nil {
			return env.Fail(env.ExitFailure, env.CodeEntryChanged, "", "%v", approval.ErrChanged)
		}
		if s.Waiting != nil {
			s = s.Waiting
		}
		if changed := pins().Changed(s.ID()); !s.Pending && len(changed) > 0 {
			return approveTools(a, cmd, cfg, s, changed, yes)
		}
		free := noSandbox && s.Sandbox.On && !s.Sandbox.Written
		if !s.Pending && !free {
			return env.Fail(env.ExitUsage, env.CodeNotPending, "", "%s", a.T("server "+name+" does not wait for approval", "服务器 "+name+" 不在等待批准"))
		}
		fmt.Fprintf(a.Stderr, "%s %s\n%s\n", a.T("server", "服务器"), name, s.Entry())
		for _, taken := range s.Taken {
			fmt.Fprintln(a.Stderr, taken.In(a.Lang))
		}
		sayConfined(a, s, noSandbox)
		if !yes {
			if err := confirm(a, a.T("Start it from now on? [y/N] ", "允许启动吗？[y/N] ")); err != nil {
				return err
			}
		}
		record := cfg.Approvals().Approve
		if noSandbox {
			record = cfg.Approvals().ApproveUnconfined
		}
		err = record(s.ID(), s.ShownHash())
		switch {
		case errors.Is(err, approval.ErrChanged) && yes:
			return env.Fail(env.ExitFailure, env.CodeEntryChanged, "", "%v", err)
		case errors.Is(err, approval.ErrChanged):
			fmt.Fprintln(a.Stderr, a.T("nothing was approved: the entry has changed since it was shown. It is now", "没有批准：条目在显示之后又被修改；现在是"))
			continue
		case err != nil:
			return err
		}
		return approved(a, cmd, cfg, s)
	}
}

// sayConfined prints what the command to be approved may do on this machine.
func sayConfined(a *env.Env, s *config.Server, noSandbox bool) {
	switch {
	case s.Type != config.TypeStdio || s.Sandbox.Written:
	case noSandbox || runtime.GOOS != "linux":
		fmt.Fprintln(a.Stderr, a.T("it runs without a sandbox: it can read and write everything that you can", "它不使用沙箱运行：可读写你能读写的一切"))
	default:
		fmt.Fprintln(a.Stderr, a.T("it runs in a sandbox: its own files and any public host; --no-sandbox runs it without a sandbox", "它在沙箱中运行：只能使用自身文件与公网主机；--no-sandbox 可不使用沙箱运行"))
	}
}

// approved makes a running gateway reload after an approval.
func approved(a *env.Env, cmd *cobra.Command, cfg *config.Config, s *config.Server) error {
	told, err := control.ReloadRunning(cmd.Context(), a, cfg.Path)
	if err != nil {
		return err
	}
	name := s.Name
	if told {
		name += a.T(" (the running gateway uses it now)", "（正在运行的网关已采用新配置）")
	}
	done(a, a.T("approved: ", "已批准："), name)
	return nil
}

// confirm asks the user a question; nil means yes.
func confirm(a *env.Env, question string) error {
	if !env.IsTerminal(a.Stdin) {
		return env.Fail(env.ExitPending, env.CodeConfirm, "--yes", "%s", a.T("standard input is not a terminal, so the question cannot be asked", "标准输入不是终端，无法询问"))
	}
	fmt.Fprint(a.Stderr, question)
	answer, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
		if err != nil {
			fmt.Fprintln(a.Stderr) // the input ended without a newline
		}
		fmt.Fprintln(a.Stderr, a.T("nothing was done", "未执行任何操作"))
		return env.Silent(env.ExitDenied)
	}
	return nil
}
