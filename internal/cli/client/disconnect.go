package client

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/env"
)

func DisconnectCommand(a *env.Env) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "disconnect CLIENT",
		Short: a.T("remove this gateway from a client's config file", "从客户端的配置文件中移除本网关"),
		Long: a.T("Removes this gateway from a client's config file. If the file was not changed since,\nits old content is restored byte for byte; otherwise only the change of `connect` is undone.\nServers that `connect --move` moved are removed from the gateway's file, unless they\nwere changed there since.",
			"从客户端的配置文件中移除本网关。文件此后未被改动时，逐字节恢复原样；\n否则只撤销 `connect` 的修改。\n由 `connect --move` 移入网关的服务器会从网关的文件中移除，除非此后被修改过。"),
		Args: command.ArgCount(a, 1, 1), ValidArgsFunction: completeClients,
		RunE: func(cmd *cobra.Command, args []string) error { return disconnect(cmd.Context(), a, args[0], dryRun) },
	}
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, a.T("show the difference and write nothing", "只显示差异，不写入"))
	return cmd
}

func disconnect(ctx context.Context, a *env.Env, id string, dryRun bool) error {
	c, err := clients.Find(a, id)
	if err != nil {
		return err
	}
	change, err := clients.PlanDisconnect(a, c)
	if err != nil {
		return err
	}
	if change.Nothing() {
		fmt.Fprintln(a.Stderr, a.T("nothing to change: it is not connected", "无需修改：尚未连接"))
	} else {
		fmt.Fprint(a.Stdout, change.Diff())
	}
	for _, add := range change.Leaving {
		fmt.Fprintf(a.Stderr, a.T("taken out of the gateway: %s (%s)\n", "从网关移除：%s（%s）\n"), add.Name, add.Config)
	}
	for _, d := range change.Staying {
		fmt.Fprintf(a.Stderr, "%s: %s\n", d.Name, d.Outcome)
	}
	if dryRun {
		return nil
	}
	if err := clients.EndConnection(ctx, a, change); err != nil || change.Nothing() {
		return err
	}
	fmt.Fprintf(a.Stderr, "%s%s\n", a.T("disconnected: ", "已断开："), c.Name)
	return nil
}
