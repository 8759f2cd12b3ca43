// Package program defines the command trees of the other programs that this
// binary can run as, and the flags from before there were commands.
package program

import (
	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/test"
	"mcp-all-in-one/internal/cli/use"
	"mcp-all-in-one/internal/env"
)

// ProbeCommands returns the tester's commands.
func ProbeCommands(a *env.Env) []*cobra.Command {
	return append([]*cobra.Command{
		use.InspectCommand(a), use.ShellCommand(a), use.ListCommand(a), use.CallCommand(a), use.ScriptCommand(a), use.ReadCommand(a), use.PromptCommand(a), use.LogsCommand(a),
		test.TestCommand(a), test.EvalCommand(a), test.RecordCommand(a), test.ReplayCommand(a), test.MockCommand(a), test.LoadCommand(a), test.DiffCommand(a), test.LintCommand(a),
		use.InboxCommand(a), use.TrafficCommand(a), use.HistoryCommand(a), test.CompareCommand(a),
	}, command.Aside(use.CompleteCommand(a), use.PingCommand(a), use.SubscribeCommand(a), use.WatchCommand(a))...)
}
