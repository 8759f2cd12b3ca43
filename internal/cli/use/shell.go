package use

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
)

func ShellCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	cmd := target.NewCommand(a, "shell TARGET", a.T("talk to a server, line by line", "与服务器逐行对话"), &f,
		func(cmd *cobra.Command, args []string) error {
			m, err := target.ParseTarget(a, cmd, &f, args)
			if err != nil {
				return err
			}
			return RunShell(cmd.Context(), a, &f, m, nil)
		})
	cmd.Long = a.T("Opens one connection and runs commands on it, line by line, with history and completion on a terminal.\nType help for the commands.",
		"打开一个连接并逐行使用；在终端上有历史与补全。\n输入 help 查看命令。")
	return cmd
}

// A shell is an interactive session with a server.
type shell struct {
	*target.Connection
	base  context.Context
	lists map[catalog.Kind]*probe.Listing
	input lineReader
}

// A lineReader reads the lines of a session.
type lineReader interface {
	next() (string, error)
	close()
}

func RunShell(ctx context.Context, a *env.Env, f *target.Flags, m *target.Target, adjust func(*probe.Options)) error {
	b, err := target.Open(ctx, a, f, m, adjust)
	if err != nil {
		return err
	}
	defer b.End()
	// Each line has its own context: an interrupt ends the running command, not
	// the shell.
	b.IgnoreInterrupts()
	s := &shell{Connection: b, base: ctx, lists: make(map[catalog.Kind]*probe.Listing)}
	if env.IsTerminal(a.Stdin) && env.IsTerminal(a.Stdout) {
		i := b.Info()
		fmt.Fprintf(a.Stderr, "%s, %s (%s). %s\n", m.Label, i.Version, i.Era, a.T("help lists the commands, ^D ends", "help 列出命令，^D 结束"))
		s.input = newTerminalReader(s)
	} else {
		s.input = plainReader{a}
	}
	defer s.input.close()
	for {
		line, err := s.input.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if done := s.line(strings.TrimSpace(line)); done {
			return nil
		}
		select {
		case <-s.Gone():
			return target.Failed(a, &probe.StartError{Err: errors.New(a.T("the connection has ended", "连接已结束")), Stderr: s.Stderr(5)}, m)
		default:
		}
	}
}

// line runs one line and reports whether it was the last.
func (s *shell) line(line string) bool {
	words, err := splitWords(line)
	if err != nil {
		fmt.Fprintln(s.Env.Stderr, s.Env.Lang.Of(err))
		return false
	}
	if len(words) == 0 {
		return false
	}
	if words[0] == "quit" || words[0] == "exit" {
		return true
	}
	ctx, stop := signal.NotifyContext(s.base, os.Interrupt)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(probe.ErrCancelled) })()
	s.Connection.Ctx = ctx
	if err := s.run(words); err != nil {
		s.Env.Report(target.Failed(s.Env, err, s.To))
	}
	return false
}

// run runs one command of the shell. A word that is not a command is a tool.
func (s *shell) run(words []string) error {
	c := CallFlags{Flags: *s.Flags}
	rest := words[1:]
	need := func(run func() error) error {
		if len(rest) == 0 {
			return env.Fail(env.ExitUsage, env.CodeUsage, "help", "%s: %s", words[0], s.Env.T("something is missing", "缺少参数"))
		}
		return run()
	}
	switch words[0] {
	case "help":
		fmt.Fprint(s.Env.Stdout, s.Env.T(shellHelp, shellHelpZH))
		return nil
	case "info":
		return inspectServer(s.Connection)
	case "tools", "resources", "templates", "prompts":
		s.lists = make(map[catalog.Kind]*probe.Listing)
		return listFeatures(s.Connection, []catalog.Kind{output.KindWords[words[0]]}, strings.Join(rest, ""), false)
	case "call":
		return need(func() error { return callTool(s.Connection, &c, rest[0], rest[1:]) })
	case "read":
		return need(func() error { return readResource(s.Connection, rest[0], rest[1:], "") })
	case "prompt":
		return need(func() error { return getPrompt(s.Connection, rest[0], rest[1:], false) })
	case "complete":
		if len(rest) < 2 {
			rest = nil
		}
		return need(func() error { return completeArgument(s.Connection, rest[0], rest[1], rest[2:]) })
	case "ping":
		return pingServer(s.Connection, 1, 0)
	case "level":
		return need(func() error { return s.SetLevel(s.Connection.Ctx, rest[0]) })
	case "wire":
		for _, f := range s.Frames() {
			s.ShowFrame(f)
		}
		return nil
	case "send":
		return need(func() error { return s.raw(rest[0], strings.Join(rest[1:], " ")) })
	}
	return callTool(s.Connection, &c, words[0], rest)
}

// raw sends a request with the given method and params.
func (s *shell) raw(method, params string) error {
	args, err := ArgumentsFrom(s.Env, params)
	if err != nil {
		return err
	}
	x, err := s.Ask(method, args)
	if err != nil {
		return err
	}
	output.PrintJSON(s.Env, x.Result)
	return nil
}

const shellHelp = `tools, resources, templates, prompts [NAME]
call TOOL [NAME=VALUE ...], or the name of the tool alone
read URI [NAME=VALUE ...]
prompt NAME [NAME=VALUE ...]
complete PROMPT|TEMPLATE ARGUMENT=TYPED
info, ping, level LEVEL
send METHOD [JSON]   a request as it is
wire                 what went over the wire so far
quit
`

const shellHelpZH = `tools、resources、templates、prompts [名称]
call 工具 [名称=值 ...]，或直接输入工具名
read URI [名称=值 ...]
prompt 名称 [名称=值 ...]
complete 提示词|模板 参数=已输入
info、ping、level 级别
send 方法 [JSON]      原样发送请求
wire                 目前为止的全部消息
quit
`

// plainReader reads lines from a pipe.
type plainReader struct{ env *env.Env }

func (p plainReader) next() (string, error) {
	line, err := p.env.Lines().ReadString('\n')
	if line != "" {
		err = nil
	}
	return line, err
}

func (plainReader) close() {}

// splitWords splits a line at white space outside quotes.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\t':
			if open || word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, "", "%v: %s", i18n.New("a quote is not closed", "引号没有闭合"), line)
	}
	if open || word.Len() > 0 {
		words = append(words, word.String())
	}
	return words, nil
}

// terminalSize returns the width and height of the terminal.
func terminalSize() (int, int) {
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 80, 24
	}
	return width, height
}
