package command

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/env"
)

// WriteHelp prints the help of a command in the user's language.
func WriteHelp(a *env.Env, w io.Writer, cmd *cobra.Command) {
	about := cmp.Or(cmd.Long, cmd.Short)
	fmt.Fprintf(w, "%s\n\n%s\n  %s\n", about, a.T("Usage", "用法"), UseLine(a, cmd))
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(w, "\n%s\n  %s\n", a.T("Other names", "别名"), strings.Join(cmd.Aliases, ", "))
	}
	writeCommands(a, w, cmd)
	own, ofConnection := apart(cmd.LocalFlags())
	writeFlags(a, w, a.T("Flags", "选项"), own)
	writeFlags(a, w, a.T("Connection flags", "连接选项"), ofConnection)
	if general := names(cmd.InheritedFlags()); len(general) > 0 && !cmd.HasSubCommands() {
		fmt.Fprintf(w, "\n%s\n  %s\n  "+a.T("%s --help explains them", "说明见 %s --help")+"\n", a.T("General flags", "通用选项"), strings.Join(general, " "), cmd.Root().CommandPath())
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, "\n%s\n%s\n", a.T("Examples", "示例"), cmd.Example)
	}
}

// UseLine returns the usage line of a command.
func UseLine(a *env.Env, cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() && !strings.Contains(cmd.Use, " ") {
		return cmd.CommandPath() + " COMMAND"
	}
	parent := ""
	if cmd.HasParent() {
		parent = cmd.Parent().CommandPath() + " "
	}
	return parent + cmd.Use
}

// aside marks a command that is left out of the list of commands.
const aside = "aside"

// Aside leaves commands out of the list of commands in the help of the root.
// They still work, complete and have their own help.
func Aside(commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.Annotations = map[string]string{aside: "true"}
	}
	return commands
}

func writeCommands(a *env.Env, w io.Writer, cmd *cobra.Command) {
	width := 0
	for _, c := range cmd.Commands() {
		if c.Annotations[aside] == "" {
			width = max(width, len(c.Name()))
		}
	}
	list := func(title, group string) {
		first := true
		for _, c := range cmd.Commands() {
			if !c.IsAvailableCommand() || c.GroupID != group || c.Annotations[aside] != "" {
				continue
			}
			if first {
				fmt.Fprintf(w, "\n%s\n", title)
				first = false
			}
			fmt.Fprintf(w, "  %-*s  %s\n", width, c.Name(), c.Short)
		}
	}
	for _, g := range cmd.Groups() {
		list(g.Title, g.ID)
	}
	list(a.T("Commands", "命令"), "")
}

// connection marks a flag that many commands have, because they all connect to
// a server.
const connection = "connection"

// AddConnectionFlags adds flags that the help lists apart from those of the
// command itself.
func AddConnectionFlags(to, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{connection: nil}
		to.AddFlag(f)
	})
}

// apart splits flags into those of a command itself and those of its
// connection.
func apart(flags *pflag.FlagSet) (own, ofConnection *pflag.FlagSet) {
	own, ofConnection = pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Annotations[connection]; ok {
			ofConnection.AddFlag(f)
		} else {
			own.AddFlag(f)
		}
	})
	return own, ofConnection
}

func names(flags *pflag.FlagSet) []string {
	var list []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			list = append(list, "--"+f.Name)
		}
	})
	return list
}

// writeFlags prints flags in two columns. It counts wide characters as two
// columns.
func writeFlags(a *env.Env, w io.Writer, title string, flags *pflag.FlagSet) {
	type row struct{ name, about string }
	var rows []row
	width := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, about := pflag.UnquoteUsage(f)
		if f.Name == "help" {
			about = a.T("show this help", "显示帮助")
		}
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		switch {
		case value == "" || f.Value.Type() == "count":
		case f.NoOptDefVal != "":
			name += " [" + value + "]"
		default:
			name += " " + value
		}
		rows = append(rows, row{name, about})
		width = max(width, env.TextWidth(name))
	})
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, r := range rows {
		fmt.Fprintf(w, "  %s  %s\n", env.PadRight(r.name, width), r.about)
	}
}

func helpCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: a.T("help about a command", "显示命令的帮助"), GroupID: GroupOther,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return UnknownCommand(a, cmd.Root(), strings.Join(args, " "))
			}
			WriteHelp(a, a.Stdout, found)
			return nil
		},
	}
}
