package manage

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/web"
)

func ReloadCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: a.T("make the running gateway read its config file again", "让正在运行的网关重新读取配置文件"),
		Long: a.T("Makes the running gateway read its config file again, and prints what changed. Servers\nwhose entries did not change keep running. A broken file changes nothing.",
			"让正在运行的网关重新读取配置文件，并显示变化。未变化的服务器继续运行。\n无法读取的文件不会造成任何变化。"),
		Args: command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error { return runReload(cmd.Context(), a) },
	}
}

func runReload(ctx context.Context, a *env.Env) error {
	r, err := control.RunningHere(ctx, a)
	if err != nil {
		return err
	}
	var report web.Reload
	if err := r.Post(ctx, "/reload", nil, &report); err != nil {
		if e := new(env.ExitError); errors.As(err, &e) {
			fmt.Fprintln(a.Stderr, control.StaleNote(a, r))
			if _, broken := a.Load(false); control.Stale(ctx, a, broken) != nil {
				return broken // with the code of what is wrong in the file
			}
		}
		return err
	}
	if a.JSON {
		env.WriteLine(a.Stdout, report)
		return nil
	}
	if report.Empty() {
		fmt.Fprintln(a.Stdout, a.T("nothing changed: ", "没有变化：")+report.Path)
		return nil
	}
	for _, part := range control.Changes(a, &report) {
		fmt.Fprintln(a.Stdout, part)
	}
	control.SayRestart(a, &report)
	return nil
}
