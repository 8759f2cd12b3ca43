package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
)

// connectFlags are those of connect.
type connectFlags struct {
	schema, url        string
	print, dryRun, all bool
	storeSecrets       bool
	rename             map[string]string
	ask                func(name string) (string, error) // as in importFlags
	wait               time.Duration
}

func connectCommand(a *app) *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use:     "connect CLIENT",
		Short:   a.t("write this gateway into a client's file", "将本网关写入客户端的配置文件"),
		Long:    a.t("Writes this gateway into a client's file: shows the difference, keeps a backup, and\nleaves everything else as it is. `disconnect` undoes it. On a terminal it then waits\nuntil the client has come.", "将本网关写入客户端的配置文件：显示差异、保留备份、其余内容不变。\n可用 `disconnect` 撤销。在终端中，随后等待客户端连接。"),
		Example: "  mcp-all-in-one connect cursor --dry-run\n  mcp-all-in-one connect claude-desktop --move",
		Args:    argCount(a, 1, 1), ValidArgsFunction: completeClients,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("wait") && !isTerminal(a.Stderr) {
				f.wait = 0 // a script has better things to do
			}
			return connect(a, cmd, f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.schema, "schema", "", a.t("schema `NAME` that the client gets", "客户端使用的 schema `NAME`"))
	flags.StringVar(&f.url, "url", "", a.t("connect over HTTP to this `URL` instead of starting a command", "通过 HTTP 连接此 `URL`，而不是启动命令"))
	flags.BoolVar(&f.print, "print", false, a.t("print the entry and write nothing", "只输出条目，不写入"))
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, a.t("show the difference and write nothing", "只显示差异，不写入"))
	flags.DurationVar(&f.wait, "wait", clientWait, a.t("`TIME` to wait for the client to come (30s on a terminal, else 0)", "等待客户端连接的时间 `TIME`（终端中为 30s，否则为 0）"))
	flags.BoolVar(&f.all, "move", false, a.t("move the client's own servers behind this gateway", "将客户端自己的服务移到本网关之后"))
	flags.StringToStringVar(&f.rename, "rename", nil, a.t("with --move, move the server under another name, as `NAME=NEW`; may be repeated", "与 --move 一起使用，以其他名称移动服务，格式为 `NAME=NEW`；可重复"))
	flags.BoolVar(&f.storeSecrets, "store-secrets", false, a.t("with --move, move secrets into the secret store", "与 --move 一起使用，将密钥移入密钥库"))
	return cmd
}

func connect(a *app, cmd *cobra.Command, f connectFlags, id string) error {
	c, err := findClient(a, id)
	if err != nil {
		return err
	}
	entry, err := ownEntryFor(a, c, f)
	if err != nil {
		return err
	}
	if f.print {
		return printEntry(a, c, entry)
	}
	if !f.dryRun {
		f.ask = askName(cmd.Context(), a)
	}
	change, err := planConnect(a, c, entry, f)
	if err != nil {
		return err
	}
	if change.nothing() {
		sayMoved(a, "", nil, change.staying)
		fmt.Fprintln(a.Stderr, a.t("nothing to change: it is connected already", "无需修改：已经连接"))
		return nil
	}
	fmt.Fprint(a.Stdout, change.diff())
	if f.dryRun {
		flags := change.importFlags()
		flags.dryRun = true
		would, err := importAll(cmd.Context(), a, change.moving, flags)
		sayMoved(a, a.t("would move: ", "将移动："), would, change.staying)
		return err
	}
	save := func() error { return saveConnection(cmd.Context(), a, change) }
	if f.wait <= 0 {
		return save()
	}
	return awaitClient(cmd.Context(), a, c, f, save)
}

// saveConnection makes the change, and says how to undo it.
func saveConnection(ctx context.Context, a *app, change *clientChange) error {
	c := change.client
	if err := makeConnection(ctx, a, change); err != nil {
		return err
	}
	sayMoved(a, a.t("moved: ", "已移动："), change.moved, change.staying)
	fmt.Fprintf(a.Stderr, "%s%s\n", a.t("connected: ", "已连接："), c.name)
	if change.conn.Backup != "" {
		fmt.Fprintf(a.Stderr, "%s%s\n", a.t("backup: ", "备份："), change.conn.Backup)
	}
	fmt.Fprintf(a.Stderr, "%smcp-all-in-one disconnect %s\n", a.t("undo: ", "撤销："), c.id)
	fmt.Fprintln(a.Stderr, a.t("Restart "+c.name+" so that it reads its file again.", "请重启 "+c.name+" 以重新读取配置。"))
	return nil
}

func clientError(a *app, path string, err error) error {
	return fail(exitFailure, codeClientFile, "", "%v", unreadable(path, err))
}

// ownEntryFor is how the client reaches this gateway.
func ownEntryFor(a *app, c *client, f connectFlags) (any, error) {
	if f.url != "" {
		if c.remote == nil {
			return nil, fail(exitUsage, codeUsage, a.t("leave --url out", "请不要使用 --url"), "%s", a.t(c.name+" cannot dial a URL from its file", c.name+" 的配置文件不支持 URL"))
		}
		return c.remote(f.url), nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"stdio"}
	if a.configPath != "" {
		found, err := config.Discover(a.loadOptions(false))
		if err != nil {
			return nil, err
		}
		args = append(args, "--mcp-config", found.Path)
	}
	if f.schema != "" {
		args = append(args, "--schema", f.schema)
	}
	return c.entry(exe, args), nil
}

// printEntry prints the file that a client would have with nothing but us.
func printEntry(a *app, c *client, entry any) error {
	data, err := editClient(c, nil, ownEntry, entry)
	if err != nil {
		return err
	}
	_, err = a.Stdout.Write(data)
	return err
}

func exportCommand(a *app) *cobra.Command {
	var f connectFlags
	var withSecrets bool
	cmd := &cobra.Command{
		Use:   "export CLIENT|json",
		Short: a.t("print this gateway for a client's file, or the servers as JSON", "输出客户端所需的配置，或以 JSON 输出全部服务"),
		Long: a.t("Prints this gateway for a client's file, or with json the servers of the config file\nin the shape that most programs read. Variables stay as they are written; secrets that\nstand in the file are printed with --with-secrets only.",
			"输出客户端所需的配置；json 以多数程序可读的格式输出配置文件中的服务。\n变量保持原样；写在文件中的密钥只有加 --with-secrets 才会输出。"),
		Example: "  mcp-all-in-one export cursor\n  mcp-all-in-one export json --with-secrets > servers.json",
		Args:    argCount(a, 1, 1), ValidArgsFunction: completeClients,
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "json" {
				return exportJSON(a, withSecrets)
			}
			c, err := findClient(a, args[0])
			if err != nil {
				return err
			}
			entry, err := ownEntryFor(a, c, f)
			if err != nil {
				return err
			}
			return printEntry(a, c, entry)
		},
	}
	cmd.Flags().StringVar(&f.schema, "schema", "", a.t("schema `NAME` that the client gets", "客户端使用的 schema `NAME`"))
	cmd.Flags().StringVar(&f.url, "url", "", a.t("`URL` of the gateway, for clients that dial", "网关的 `URL`"))
	cmd.Flags().BoolVar(&withSecrets, "with-secrets", false, a.t("with json, print the secrets that stand in the file", "与 json 一起使用，输出写在文件中的密钥"))
	return cmd
}

func completeClients(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, c := range clients() {
		ids = append(ids, c.id)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
