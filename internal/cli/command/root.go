// Package command contains what all commands share: roots, help, arguments and
// flags.
package command

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/spelling"
)

// NewRoot returns the root command of a personality, with our help and error
// messages.
func NewRoot(a *env.Env, name, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, SilenceErrors: true, SilenceUsage: true,
		DisableSuggestions: true, // ours are in both languages
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetHelpCommand(helpCommand(a))
	cmd.AddGroup(
		&cobra.Group{ID: GroupRun, Title: a.T("Run", "运行")},
		&cobra.Group{ID: GroupUse, Title: a.T("Use and test", "使用与测试")},
		&cobra.Group{ID: GroupManage, Title: a.T("Manage", "管理")},
		&cobra.Group{ID: GroupClient, Title: a.T("Clients", "客户端")},
		&cobra.Group{ID: GroupOther, Title: a.T("Other", "其他")},
	)
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) { WriteHelp(a, c.OutOrStdout(), c) })
	cmd.SetUsageFunc(func(c *cobra.Command) error { WriteHelp(a, c.ErrOrStderr(), c); return nil })
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return FlagError(a, cmd, err) })
	return cmd
}

// AddVersion adds --version to a program that did not have it before. A version
// template of cobra would link text/template.
func AddVersion(a *env.Env, cmd *cobra.Command) {
	var show bool
	cmd.Flags().BoolVar(&show, "version", false, a.T("print the version", "显示版本"))
	args, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if show || args == nil {
			return nil
		}
		return args(cmd, given)
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		if show {
			_, err := fmt.Fprintln(a.Stdout, cmd.Name(), mcp.ProductVersion)
			return err
		}
		return run(cmd, given)
	}
}

// Build returns the commit that this program was built from, its date, the
// compiler and the platform.
func Build(a *env.Env) string {
	b := mcp.ThisBuild()
	text := b.Go + ", " + runtime.GOOS + "/" + runtime.GOARCH
	if b.Commit == "" {
		return a.T("no commit known, ", "未知提交，") + text
	}
	return a.T("commit ", "提交 ") + b.Commit + ", " + b.Date + ", " + text
}

// FlagError returns the error for an unknown flag or a bad value. For an
// unknown flag it suggests the nearest known one.
func FlagError(a *env.Env, cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help"
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			hint = cmp.Or(valueHint(a, bad.GetFlag()), hint)
		}
		return env.Fail(env.ExitUsage, env.CodeUsage, hint, "%s", FlagMessage(a, err))
	}
	name := missing.GetSpecifiedName()
	if missing.GetSpecifiedShortnames() != "" {
		return env.Fail(env.ExitUsage, env.CodeUnknownFlag, hint, "%s -%s", a.T("unknown flag", "未知选项"), name)
	}
	if near := spelling.Nearest(name, flagNames(cmd)); near != "" {
		hint = a.T("did you mean --", "是否要用 --") + near + a.T("?", "？")
	}
	return env.Fail(env.ExitUsage, env.CodeUnknownFlag, hint, "%s --%s", a.T("unknown flag", "未知选项"), name)
}

// valueHint returns how the value of a flag is written.
func valueHint(a *env.Env, f *pflag.Flag) string {
	switch f.Value.Type() {
	case "duration":
		return "--" + f.Name + a.T(" 30s, or another time such as 5m or 1h", " 30s，或其他时间，如 5m、1h")
	case "int", "uint64", "float64":
		return "--" + f.Name + a.T(" takes a number", " 的值应为数字")
	}
	return ""
}

func FlagMessage(a *env.Env, err error) string {
	var needs *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	switch {
	case errors.As(err, &needs):
		return a.T("this flag needs a value: ", "该选项需要一个值：") + "--" + needs.GetFlag().Name
	case errors.As(err, &bad):
		return fmt.Sprintf(a.T("bad value for --%s: %s", "选项 --%s 的值 %q 无效"), bad.GetFlag().Name, bad.GetValue())
	}
	if syntax, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		return a.T("bad flag syntax: ", "选项的写法不正确：") + syntax.GetSpecifiedFlag()
	}
	return a.Lang.Of(err)
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// NoArgs refuses arguments. For a command with subcommands, an argument is an
// unknown command.
func NoArgs(a *env.Env) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if cmd.HasSubCommands() {
			return UnknownCommand(a, cmd, args[0])
		}
		return UsageError(a, cmd, a.T("unexpected argument ", "多余的参数 ")+args[0])
	}
}

// ArgCount requires between least and most arguments.
func ArgCount(a *env.Env, least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return UsageError(a, cmd, a.T("missing: ", "缺少：")+strings.Fields(cmd.Use)[1+len(args)])
		case most >= 0 && len(args) > most:
			return UsageError(a, cmd, a.T("unexpected argument ", "多余的参数 ")+args[most])
		}
		return nil
	}
}

func UsageError(a *env.Env, cmd *cobra.Command, text string) error {
	return env.Fail(env.ExitUsage, env.CodeUsage, UseLine(a, cmd), "%s", text)
}

func UnknownCommand(a *env.Env, cmd *cobra.Command, name string) error {
	hint := cmd.CommandPath() + " --help"
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	if near := spelling.Nearest(name, names); near != "" {
		hint = a.T("did you mean: ", "是否要用：") + strings.TrimSpace(cmd.CommandPath()+" "+near)
	}
	return env.Fail(env.ExitUsage, env.CodeUnknownCommand, hint, "%s %q", a.T("unknown command", "未知命令"), name)
}

// The groups of commands in the help.
const (
	GroupRun    = "run"
	GroupUse    = "use"
	GroupManage = "manage"
	GroupClient = "client"
	GroupOther  = "other"
)
