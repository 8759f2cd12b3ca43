package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// ProbeCommands are those of the tester.
func ProbeCommands(a *Env) []*cobra.Command {
	return []*cobra.Command{
		InspectCommand(a), ShellCommand(a), ListCommand(a), CallCommand(a), ReadCommand(a), PromptCommand(a), CompleteCommand(a),
		PingCommand(a), SubscribeCommand(a), WatchCommand(a), LogsCommand(a), TestCommand(a),
		RecordCommand(a), ReplayCommand(a), MockCommand(a), LoadCommand(a), DiffCommand(a), LintCommand(a), InboxCommand(a), TrafficCommand(a), HistoryCommand(a), CompareCommand(a),
	}
}

// NewCommand is the frame of a command that talks to a server.
func NewCommand(a *Env, use, short string, f *Flags, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(f.checkProtocol(a), f.CheckOutput(a)); err != nil {
			return err
		}
		return run(cmd, args)
	}}
	if at := slices.Index(strings.Fields(use), "TARGET"); at > 0 {
		cmd.ValidArgsFunction = CompleteTarget(a, f, at-1)
	}
	f.add(a, cmd.Flags())
	return cmd
}

// ShortForm lets a target stand where a command is expected: NAME alone is
// inspected, NAME.TOOL is called.
func ShortForm(a *Env, root *cobra.Command, args []string) []string {
	at := FirstWord(root.PersistentFlags(), args)
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

// FirstWord is where the first argument stands that is no flag and no value of
// one; -1 when there is none.
func FirstWord(flags *pflag.FlagSet, args []string) int {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" || word == "" {
			return -1
		}
		if word[0] != '-' {
			return i
		}
		if strings.Contains(word, "=") {
			continue
		}
		flag := flags.Lookup(strings.TrimLeft(word, "-"))
		if flag == nil && len(word) == 2 {
			flag = flags.ShorthandLookup(word[1:])
		}
		if flag == nil {
			return -1
		}
		if flag.NoOptDefVal == "" {
			i++
		}
	}
	return -1
}

// configIn finds the config file that the command line names.
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

// OpenInProcess serves one client of this gateway on a stream, with the rights
// and on the terms of an opening. The function that it returns ends the session.
func (in *Instance) OpenInProcess(stream jsonrpc.Stream, o gateway.Opening) (closeSession func(), err error) {
	client := make(LateClient, 1)
	o.Stdio, o.Session, o.Client = in.greeting != nil, true, client
	s, err := in.Gateway.Open(o)
	if err != nil {
		return nil, err
	}
	conn := jsonrpc.NewConn(stream, jsonrpc.ConnOptions{
		Handler: s, Strict: true, MaxInFlight: in.Config.Limits.InFlightPerSession,
		CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
	})
	client <- conn
	return func() { conn.Close(); s.Close() }, nil
}

// Once opens a connection for one command.
func Once(ctx context.Context, a *Env, f *Flags, m *Target, run func(b *Connection) error) error {
	b, err := Open(ctx, a, f, m, nil)
	if err != nil {
		return err
	}
	defer b.End()
	return Failed(a, run(b), m)
}

// Name takes the next word of the command line.
func (m *Target) Name(a *Env, cmd *cobra.Command, what string) (string, error) {
	if len(m.Rest) == 0 {
		return "", UsageError(a, cmd, a.T("missing: ", "缺少 ")+what)
	}
	word := m.Rest[0]
	m.Rest = m.Rest[1:]
	return word, nil
}
