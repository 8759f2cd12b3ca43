// Package client implements the commands for MCP clients that use the gateway.
package client

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/env"
)

func ConnectCommand(a *env.Env) *cobra.Command {
	var f clients.ConnectFlags
	cmd := &cobra.Command{
		Use:     "connect CLIENT",
		Short:   a.T("write this gateway into a client's config file", "将本网关写入客户端的配置文件"),
		Long:    a.T("Writes this gateway into a client's config file: shows the difference, keeps a backup,\nand changes nothing else. `disconnect` undoes it. On a terminal it then waits until the\nclient connects.", "将本网关写入客户端的配置文件：显示差异、保留备份、其余内容不变。\n可用 `disconnect` 撤销。在终端中，随后等待客户端连接。"),
		Example: "  mcp-all-in-one connect cursor --dry-run\n  mcp-all-in-one connect claude-desktop --move",
		Args:    command.ArgCount(a, 1, 1), ValidArgsFunction: completeClients,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("wait") && !env.IsTerminal(a.Stderr) {
				f.Wait = 0 // a script does not wait
			}
			return connect(a, cmd, f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Schema, "schema", "", a.T("schema `NAME` that the client gets", "客户端使用的 schema `NAME`"))
	flags.StringVar(&f.URL, "url", "", a.T("connect over HTTP to this `URL` instead of starting a command", "通过 HTTP 连接此 `URL`，而不是启动命令"))
	flags.BoolVar(&f.Print, "print", false, a.T("print the entry and write nothing", "只输出条目，不写入"))
	flags.BoolVarP(&f.DryRun, "dry-run", "n", false, a.T("show the difference and write nothing", "只显示差异，不写入"))
	flags.DurationVar(&f.Wait, "wait", clientWait, a.T("`TIME` to wait for the client to connect (30s on a terminal, else 0)", "等待客户端连接的时间 `TIME`（终端中为 30s，否则为 0）"))
	flags.BoolVar(&f.All, "move", false, a.T("move the client's own servers behind this gateway", "将客户端自己的服务器移到本网关之后"))
	flags.StringToStringVar(&f.Rename, "rename", nil, a.T("with --move, move the server under another name, as `NAME=NEW`; may be repeated", "与 --move 一起使用，以其他名称移动服务器，格式为 `NAME=NEW`；可重复"))
	flags.BoolVar(&f.StoreSecrets, "store-secrets", false, a.T("with --move, move secrets into the secret store", "与 --move 一起使用，将密钥移入密钥库"))
	return cmd
}

func connect(a *env.Env, cmd *cobra.Command, f clients.ConnectFlags, id string) error {
	c, err := clients.Find(a, id)
	if err != nil {
		return err
	}
	entry, err := clients.OwnEntryFor(a, c, f)
	if err != nil {
		return err
	}
	if f.Print {
		return printEntry(a, c, entry)
	}
	if !f.DryRun {
		f.Ask = clients.AskName(cmd.Context(), a)
	}
	change, err := clients.PlanConnect(a, c, entry, f)
	if err != nil {
		return err
	}
	if change.Nothing() {
		clients.SayMoved(a, "", nil, change.Staying)
		fmt.Fprintln(a.Stderr, a.T("nothing to change: it is connected already", "无需修改：已经连接"))
		return nil
	}
	fmt.Fprint(a.Stdout, change.Diff())
	if f.DryRun {
		flags := change.ImportFlags()
		flags.DryRun = true
		would, err := clients.ImportAll(cmd.Context(), a, change.Moving, flags)
		clients.SayMoved(a, a.T("would move: ", "将移动："), would, change.Staying)
		return err
	}
	save := func() error { return saveConnection(cmd.Context(), a, change) }
	if f.Wait <= 0 {
		return save()
	}
	return awaitClient(cmd.Context(), a, c, f, save)
}

// saveConnection makes the change and prints how to undo it.
func saveConnection(ctx context.Context, a *env.Env, change *clients.Change) error {
	c := change.Client
	if err := clients.MakeConnection(ctx, a, change); err != nil {
		return err
	}
	clients.SayMoved(a, a.T("moved: ", "已移动："), change.Moved, change.Staying)
	fmt.Fprintf(a.Stderr, "%s%s\n", a.T("connected: ", "已连接："), c.Name)
	if change.Conn.Backup != "" {
		fmt.Fprintf(a.Stderr, "%s%s\n", a.T("backup: ", "备份："), change.Conn.Backup)
	}
	fmt.Fprintf(a.Stderr, "%smcp-all-in-one disconnect %s\n", a.T("undo: ", "撤销："), c.ID)
	fmt.Fprintln(a.Stderr, a.T("Restart "+c.Name+" so that it reads its file again.", "请重启 "+c.Name+" 以重新读取配置。"))
	return nil
}

// printEntry prints a client's config file that contains only our entry.
func printEntry(a *env.Env, c *clients.Client, entry any) error {
	data, err := clients.Edit(c, nil, clients.OwnEntry, entry)
	if err != nil {
		return err
	}
	_, err = a.Stdout.Write(data)
	return err
}

func ExportCommand(a *env.Env) *cobra.Command {
	var f clients.ConnectFlags
	var withSecrets bool
	cmd := &cobra.Command{
		Use:   "export CLIENT|json",
		Short: a.T("print the entry for a client's config file, or all servers as JSON", "输出客户端所需的配置，或以 JSON 输出全部服务器"),
		Long: a.T("Prints the entry of this gateway for a client's config file, or with json all servers in\nthe shape that most programs read. Variables are not expanded; plain secrets of the file\nare printed with --with-secrets only.",
			"输出客户端所需的配置；json 以多数程序可读的格式输出配置文件中的服务器。\n变量保持原样；写在文件中的密钥只有加 --with-secrets 才会输出。"),
		Example: "  mcp-all-in-one export cursor\n  mcp-all-in-one export json --with-secrets > servers.json",
		Args:    command.ArgCount(a, 1, 1), ValidArgsFunction: completeClients,
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "json" {
				return exportJSON(a, withSecrets)
			}
			c, err := clients.Find(a, args[0])
			if err != nil {
				return err
			}
			entry, err := clients.OwnEntryFor(a, c, f)
			if err != nil {
				return err
			}
			return printEntry(a, c, entry)
		},
	}
	cmd.Flags().StringVar(&f.Schema, "schema", "", a.T("schema `NAME` that the client gets", "客户端使用的 schema `NAME`"))
	cmd.Flags().StringVar(&f.URL, "url", "", a.T("`URL` of the gateway, for clients that connect over HTTP", "网关的 `URL`，用于通过 HTTP 连接的客户端"))
	cmd.Flags().BoolVar(&withSecrets, "with-secrets", false, a.T("with json, print the plain secrets of the file", "与 json 一起使用，输出写在文件中的密钥"))
	return cmd
}

func completeClients(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, c := range clients.All() {
		ids = append(ids, c.ID)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
