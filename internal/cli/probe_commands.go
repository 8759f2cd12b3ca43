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

// probeCommands are those of the tester.
func probeCommands(a *app) []*cobra.Command {
	return []*cobra.Command{
		inspectCommand(a), shellCommand(a), listCommand(a), callCommand(a), readCommand(a), promptCommand(a), completeCommand(a),
		pingCommand(a), subscribeCommand(a), watchCommand(a), logsCommand(a), testCommand(a),
		recordCommand(a), replayCommand(a), mockCommand(a), loadCommand(a), diffCommand(a), lintCommand(a), inboxCommand(a), trafficCommand(a), historyCommand(a), compareCommand(a),
	}
}

// probeCommand is the frame of a command that talks to a server.
func probeCommand(a *app, use, short string, f *probeFlags, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(f.checkProtocol(a), f.checkOutput(a)); err != nil {
			return err
		}
		return run(cmd, args)
	}}
	if at := slices.Index(strings.Fields(use), "TARGET"); at > 0 {
		cmd.ValidArgsFunction = completeTarget(a, f, at-1)
	}
	f.add(a, cmd.Flags())
	return cmd
}

// shortForm lets a target stand where a command is expected: NAME alone is
// inspected, NAME.TOOL is called.
func shortForm(a *app, root *cobra.Command, args []string) []string {
	at := firstWord(root.PersistentFlags(), args)
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
		a.configPath = configIn(args)
		cfg, _, err := a.loadWithDemo()
		a.configPath = ""
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

// firstWord is where the first argument stands that is no flag and no value of
// one; -1 when there is none.
func firstWord(flags *pflag.FlagSet, args []string) int {
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

// openInProcess serves one client of this gateway on a stream, with the rights
// and on the terms of an opening. The function that it returns ends the session.
func (in *instance) openInProcess(stream jsonrpc.Stream, o gateway.Opening) (closeSession func(), err error) {
	client := make(lateClient, 1)
	o.Stdio, o.Session, o.Client = in.greeting != nil, true, client
	s, err := in.gateway.Open(o)
	if err != nil {
		return nil, err
	}
	conn := jsonrpc.NewConn(stream, jsonrpc.ConnOptions{
		Handler: s, Strict: true, MaxInFlight: in.cfg.Limits.InFlightPerSession,
		CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
	})
	client <- conn
	return func() { conn.Close(); s.Close() }, nil
}

// once opens a connection for one command.
func once(ctx context.Context, a *app, f *probeFlags, m *aim, run func(b *bout) error) error {
	b, err := open(ctx, a, f, m, nil)
	if err != nil {
		return err
	}
	defer b.close()
	return probeError(a, run(b), m)
}

// name takes the next word of the command line.
func (m *aim) name(a *app, cmd *cobra.Command, what string) (string, error) {
	if len(m.rest) == 0 {
		return "", usageError(a, cmd, a.t("missing: ", "缺少 ")+what)
	}
	word := m.rest[0]
	m.rest = m.rest[1:]
	return word, nil
}
