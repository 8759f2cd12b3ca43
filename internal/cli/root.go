package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/spelling"
)

// newRoot is the root command of a personality: our help, our errors.
func (a *app) newRoot(name, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, SilenceErrors: true, SilenceUsage: true,
		DisableSuggestions: true, // ours are in both languages
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetHelpCommand(a.helpCommand())
	cmd.AddGroup(
		&cobra.Group{ID: groupRun, Title: a.t("Run", "运行")},
		&cobra.Group{ID: groupUse, Title: a.t("Use and test", "使用与测试")},
		&cobra.Group{ID: groupManage, Title: a.t("Manage", "管理")},
		&cobra.Group{ID: groupClient, Title: a.t("Clients", "客户端")},
		&cobra.Group{ID: groupOther, Title: a.t("Other", "其他")},
	)
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) { a.writeHelp(c.OutOrStdout(), c) })
	cmd.SetUsageFunc(func(c *cobra.Command) error { a.writeHelp(c.ErrOrStderr(), c); return nil })
	cmd.SetFlagErrorFunc(a.flagError)
	return cmd
}

// addVersion lets a program that never had it say what it is.
func (a *app) addVersion(cmd *cobra.Command) {
	cmd.Flags().Bool("version", false, a.t("print the version", "显示版本"))
	cmd.Version = mcp.ProductVersion
	cmd.SetVersionTemplate("{{.Name}} {{.Version}}\n")
}

// flagError is a flag that does not exist or has a bad value, with the nearest
// flag that does.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help"
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return fail(exitUsage, codeUsage, hint, "%s", a.flagMessage(err))
	}
	name := missing.GetSpecifiedName()
	if missing.GetSpecifiedShortnames() != "" {
		return fail(exitUsage, codeUnknownFlag, hint, "%s -%s", a.t("unknown flag", "未知选项"), name)
	}
	if near := spelling.Nearest(name, flagNames(cmd)); near != "" {
		hint = a.t("did you mean --", "是否要用 --") + near + a.t("?", "？")
	}
	return fail(exitUsage, codeUnknownFlag, hint, "%s --%s", a.t("unknown flag", "未知选项"), name)
}

func (a *app) flagMessage(err error) string {
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
func (a *app) noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return a.unknownCommand(cmd, args[0])
	}
	return a.usageError(cmd, a.t("unexpected argument ", "多余的参数 ")+args[0])
}

// argCount demands a number of arguments.
func (a *app) argCount(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return a.usageError(cmd, a.t("an argument is missing", "缺少参数"))
		case most >= 0 && len(args) > most:
			return a.usageError(cmd, a.t("unexpected argument ", "多余的参数 ")+args[most])
		}
		return nil
	}
}

func (a *app) usageError(cmd *cobra.Command, text string) error {
	return fail(exitUsage, codeUsage, a.useLine(cmd), "%s", text)
}

func (a *app) unknownCommand(cmd *cobra.Command, name string) error {
	hint := cmd.CommandPath() + " --help"
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	if near := spelling.Nearest(name, names); near != "" {
		hint = a.t("did you mean: ", "是否要用：") + strings.TrimSpace(cmd.CommandPath()+" "+near)
	}
	return fail(exitUsage, codeUnknownCommand, hint, "%s %q", a.t("unknown command", "未知命令"), name)
}
