package target

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/typed"
	"mcp-all-in-one/internal/env"
)

// NewCommand returns a command that talks to a server.
func NewCommand(a *env.Env, use, short string, f *Flags, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(f.checkProtocol(a), f.CheckOutput(a)); err != nil {
			return err
		}
		return run(cmd, args)
	}}
	if at := slices.Index(strings.Fields(use), "TARGET"); at > 0 {
		cmd.ValidArgsFunction = CompleteTarget(a, f, at-1)
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		err = command.FlagError(a, cmd, err)
		var e *env.ExitError
		if line := typed.Target(a, cmd); line != "" && errors.As(err, &e) {
			e.Hint = a.T("a command comes after --: ", "命令写在 -- 之后：") + line
		}
		return err
	})
	f.add(a, cmd.Flags())
	return cmd
}

// NewOnce returns a command that connects to its target once. The words of use
// after TARGET are required, unless in brackets; run gets them and the rest.
func NewOnce(a *env.Env, use, short string, f *Flags, run func(b *Connection, words []string) error) *cobra.Command {
	return NewCommand(a, use, short, f, func(cmd *cobra.Command, args []string) error {
		m, err := ParseTarget(a, cmd, f, args)
		if err != nil {
			return err
		}
		words := m.Rest
		_, names, _ := strings.Cut(use, "TARGET")
		for what := range strings.FieldsSeq(names) {
			if strings.HasPrefix(what, "[") {
				break
			}
			if _, err := m.Name(a, cmd, what); err != nil {
				return err
			}
		}
		return Once(cmd.Context(), a, f, m, func(b *Connection) error { return run(b, words) })
	})
}

// ShortForm allows a target in place of a command: NAME alone is inspected,
// NAME.TOOL is called.
func ShortForm(a *env.Env, root *cobra.Command, args []string) []string {
	at := env.FirstWord(root.PersistentFlags(), args)
	if at < 0 {
		return args
	}
	word := args[at]
	if found, _, err := root.Find([]string{word}); err == nil && found != root {
		return args
	}
	command := ""
	switch {
	case strings.HasPrefix(word, "http://"), strings.HasPrefix(word, "https://"), word == ".":
		command = "inspect"
	default:
		a.ConfigPath = configIn(args)
		cfg, _, err := a.LoadWithDemo()
		a.ConfigPath = ""
		if err != nil {
			return args
		}
		for _, schema := range cfg.Schemas {
			if schema.Server(word) != nil {
				command = "inspect"
			} else if name, _ := splitName(schema, word); name != "" {
				command = "call"
			}
		}
	}
	if command == "" {
		return args
	}
	return append(append(args[:at:at], command), args[at:]...)
}

// configIn returns the config file that the command line names.
func configIn(args []string) string {
	for i, word := range args {
		for _, name := range []string{"--mcp-config", "--config", "-c"} {
			if value, ok := strings.CutPrefix(word, name+"="); ok {
				return value
			}
			if word == name && i+1 < len(args) {
				return args[i+1]
			}
		}
	}
	return ""
}

// Once opens a connection, calls run and closes the connection.
func Once(ctx context.Context, a *env.Env, f *Flags, m *Target, run func(b *Connection) error) error {
	b, err := Open(ctx, a, f, m, nil)
	if err != nil {
		return err
	}
	defer b.End()
	return Failed(a, run(b), m)
}

// Name takes the next word of the command line.
func (m *Target) Name(a *env.Env, cmd *cobra.Command, what string) (string, error) {
	if len(m.Rest) == 0 {
		missing := a.T("missing: ", "缺少：") + what
		if cmd.ArgsLenAtDash() >= 0 {
			return "", env.Fail(env.ExitUsage, env.CodeUsage, strings.Replace(command.UseLine(a, cmd), "TARGET ", "", 1)+" -- COMMAND", "%s", missing)
		}
		return "", command.UsageError(a, cmd, missing)
	}
	word := m.Rest[0]
	m.Rest = m.Rest[1:]
	return word, nil
}
