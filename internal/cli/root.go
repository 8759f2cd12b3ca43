package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/mcp"
)

// newRoot is the root command of a personality: our help, our errors.
func newRoot(a *app, name, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, SilenceErrors: true, SilenceUsage: true,
		DisableSuggestions: true, // ours are in both languages
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetHelpCommand(helpCommand(a))
	cmd.AddGroup(
		&cobra.Group{ID: groupRun, Title: a.t("Run", "运行")},
		&cobra.Group{ID: groupUse, Title: a.t("Use and test", "使用与测试")},
		&cobra.Group{ID: groupManage, Title: a.t("Manage", "管理")},
		&cobra.Group{ID: groupClient, Title: a.t("Clients", "客户端")},
		&cobra.Group{ID: groupOther, Title: a.t("Other", "其他")},
	)
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) { writeHelp(a, c.OutOrStdout(), c) })
	cmd.SetUsageFunc(func(c *cobra.Command) error { writeHelp(a, c.ErrOrStderr(), c); return nil })
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(a, cmd, err) })
	return cmd
}

// addVersion lets a program that never had it say what it is.
func addVersion(a *app, cmd *cobra.Command) {
	cmd.Flags().Bool("version", false, a.t("print the version", "显示版本"))
	cmd.Version = mcp.ProductVersion
	cmd.SetVersionTemplate("{{.Name}} {{.Version}}\n")
}

// flagError is a flag that does not exist or has a bad value, with the nearest
// flag that does.
func flagError(a *app, cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help"
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return fail(exitUsage, codeUsage, hint, "%s", flagMessage(a, err))
	}
	name := missing.GetSpecifiedName()
	if missing.GetSpecifiedShortnames() != "" {
		return fail(exitUsage, codeUnknownFlag, hint, "%s -%s", a.t("unknown flag", "未知选项"), name)
	}
	if near := nearest(name, flagNames(cmd)); near != "" {
		hint = a.t("did you mean --", "是否要用 --") + near + a.t("?", "？")
	}
	return fail(exitUsage, codeUnknownFlag, hint, "%s --%s", a.t("unknown flag", "未知选项"), name)
}

func flagMessage(a *app, err error) string {
	var needs *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	switch {
	case errors.As(err, &needs):
		return a.t("this flag needs a value: ", "该选项需要一个值：") + "--" + needs.GetFlag().Name
	case errors.As(err, &bad):
		return fmt.Sprintf(a.t("bad value for --%s: %s", "选项 --%s 的值 %q 无效"), bad.GetFlag().Name, bad.GetValue())
	}
	var syntax *pflag.InvalidSyntaxError
	if errors.As(err, &syntax) {
		return a.t("bad flag syntax: ", "选项的写法不正确：") + syntax.GetSpecifiedFlag()
	}
	return a.lang.Of(err)
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

// noArgs refuses what a command does not take; for a command that has others
// below it, that is an unknown command.
func noArgs(a *app) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if cmd.HasSubCommands() {
			return unknownCommand(a, cmd, args[0])
		}
		return usageError(a, cmd, a.t("unexpected argument ", "多余的参数 ")+args[0])
	}
}

// argCount demands a number of arguments.
func argCount(a *app, least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError(a, cmd, a.t("an argument is missing", "缺少参数"))
		case most >= 0 && len(args) > most:
			return usageError(a, cmd, a.t("unexpected argument ", "多余的参数 ")+args[most])
		}
		return nil
	}
}

func usageError(a *app, cmd *cobra.Command, text string) error {
	return fail(exitUsage, codeUsage, useLine(a, cmd), "%s", text)
}

func unknownCommand(a *app, cmd *cobra.Command, name string) error {
	hint := cmd.CommandPath() + " --help"
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	if near := nearest(name, names); near != "" {
		hint = a.t("did you mean: ", "是否要用：") + strings.TrimSpace(cmd.CommandPath()+" "+near)
	}
	return fail(exitUsage, codeUnknownCommand, hint, "%s %q", a.t("unknown command", "未知命令"), name)
}

// nearest is the name that was probably meant; empty when none is near.
func nearest(name string, names []string) string {
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
