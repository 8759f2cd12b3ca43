package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/mcp"
)

// NewRoot is the root command of a personality: our help, our errors.
func NewRoot(a *Env, name, short string) *cobra.Command {
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
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(a, cmd, err) })
	return cmd
}

// AddVersion lets a program that never had it say what it is.
func AddVersion(a *Env, cmd *cobra.Command) {
	cmd.Flags().Bool("version", false, a.T("print the version", "显示版本"))
	cmd.Version = mcp.ProductVersion
	cmd.SetVersionTemplate("{{.Name}} {{.Version}}\n")
}

// flagError is a flag that does not exist or has a bad value, with the nearest
// flag that does.
func flagError(a *Env, cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help"
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return Fail(ExitUsage, CodeUsage, hint, "%s", FlagMessage(a, err))
	}
	name := missing.GetSpecifiedName()
	if missing.GetSpecifiedShortnames() != "" {
		return Fail(ExitUsage, CodeUnknownFlag, hint, "%s -%s", a.T("unknown flag", "未知选项"), name)
	}
	if near := Nearest(name, flagNames(cmd)); near != "" {
		hint = a.T("did you mean --", "是否要用 --") + near + a.T("?", "？")
	}
	return Fail(ExitUsage, CodeUnknownFlag, hint, "%s --%s", a.T("unknown flag", "未知选项"), name)
}

func FlagMessage(a *Env, err error) string {
	var needs *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	switch {
	case errors.As(err, &needs):
		return a.T("this flag needs a value: ", "该选项需要一个值：") + "--" + needs.GetFlag().Name
	case errors.As(err, &bad):
		return fmt.Sprintf(a.T("bad value for --%s: %s", "选项 --%s 的值 %q 无效"), bad.GetFlag().Name, bad.GetValue())
	}
	var syntax *pflag.InvalidSyntaxError
	if errors.As(err, &syntax) {
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

// NoArgs refuses what a command does not take; for a command that has others
// below it, that is an unknown command.
func NoArgs(a *Env) cobra.PositionalArgs {
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

// ArgCount demands a number of arguments.
func ArgCount(a *Env, least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return UsageError(a, cmd, a.T("an argument is missing", "缺少参数"))
		case most >= 0 && len(args) > most:
			return UsageError(a, cmd, a.T("unexpected argument ", "多余的参数 ")+args[most])
		}
		return nil
	}
}

func UsageError(a *Env, cmd *cobra.Command, text string) error {
	return Fail(ExitUsage, CodeUsage, useLine(a, cmd), "%s", text)
}

func UnknownCommand(a *Env, cmd *cobra.Command, name string) error {
	hint := cmd.CommandPath() + " --help"
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	if near := Nearest(name, names); near != "" {
		hint = a.T("did you mean: ", "是否要用：") + strings.TrimSpace(cmd.CommandPath()+" "+near)
	}
	return Fail(ExitUsage, CodeUnknownCommand, hint, "%s %q", a.T("unknown command", "未知命令"), name)
}

// Nearest is the name that was probably meant; empty when none is near.
func Nearest(name string, names []string) string {
	best, least := "", len([]rune(name))/3+1
	for _, n := range names {
		if d := distance(name, n); d < least && d < len([]rune(name)) || strings.HasPrefix(n, name) && len(name) > 1 && best == "" {
			best, least = n, min(d, least)
		}
	}
	return best
}

// distance counts the changes, and swaps of neighbours, between two words.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
