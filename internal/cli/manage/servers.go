// Package manage implements the commands that change the configuration, its
// secrets and its keys.
package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/typed"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/install/offer"
)

// addFlags are the flags of add.
type addFlags struct {
	schema, cwd, kind string
	env, header       []string
	replace           bool
	createSchema      bool

	// flags for a server from a registry or a bundle
	name, way              string
	arg                    []string
	dryRun, yes, noSandbox bool
}

func AddCommand(a *env.Env) *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add NAME URL | add NAME -- COMMAND [ARG...] | add REGISTRY/NAME[@VERSION] | add FILE.mcpb | add docker:IMAGE [ARG...]",
		Short: a.T("add a server to the config file", "向配置文件添加服务器"),
		Long: a.T("Adds a server to the config file: an address, a command, a name in an MCP registry, a bundle (.mcpb, .dxt; a file or an https address), or an image. Everything after the command belongs to the command. A server of a registry, a bundle or an image is shown before anything of it runs, and starts after a yes.",
			"向配置文件添加服务器：地址、命令、MCP 注册表中的名称、安装包（.mcpb、.dxt；文件或 https 地址），或镜像。命令之后的内容都属于该命令。来自注册表、安装包或镜像的服务器会在运行之前显示，确认后才启动。"),
		Example: "  mcp-all-in-one add time -- uvx mcp-server-time\n" +
			"  mcp-all-in-one add notes --schema work --create-schema -- npx -y @modelcontextprotocol/server-memory\n" +
			"  mcp-all-in-one add io.github.domdomegg/airtable-mcp-server --dry-run\n" +
			"  mcp-all-in-one add docker:ghcr.io/owner/image:1.0 --env API_KEY='${secret:image}'\n" +
			"  mcp-all-in-one add github https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer ${GITHUB_TOKEN}'",
		Args: command.ArgCount(a, 1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && cmd.ArgsLenAtDash() < 0 && offer.IsOffer(args[0]) || install.IsImage(args[0]) {
				return addStranger(cmd, a, f, args)
			}
			if err := cmp.Or(notAName(a, cmd, args), strangersOnly(a, cmd)); err != nil {
				return err
			}
			entry, err := newEntry(a, cmd, f, args)
			if err != nil {
				return err
			}
			return addTyped(cmd.Context(), a, f, args[0], entry)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		err = command.FlagError(a, cmd, err)
		var e *env.ExitError
		if line := typed.WithDash(a, cmd); line != "" && errors.As(err, &e) {
			e.Hint = line
		}
		return err
	})
	flags := cmd.Flags()
	command.AddSchemaFlag(a, cmd, &f.schema)
	flags.StringArrayVarP(&f.env, "env", "e", nil, a.T("environment variable `NAME=VALUE`; may be repeated", "环境变量 `NAME=VALUE`，可重复"))
	flags.StringArrayVarP(&f.header, "header", "H", nil, a.T("header `'NAME: VALUE'`; may be repeated", "请求头 `'NAME: VALUE'`，可重复"))
	flags.StringVar(&f.cwd, "cwd", "", a.T("`DIR` the command starts in", "命令的工作目录 `DIR`"))
	flags.StringVar(&f.kind, "type", "", a.T("`TYPE`: stdio, http or sse; detected if absent", "类型 `TYPE`：stdio、http 或 sse，缺省自动判断"))
	flags.BoolVar(&f.createSchema, "create-schema", false, a.T("create the schema of --schema if it does not exist", "--schema 指定的 schema 不存在时创建它"))
	flags.BoolVar(&f.replace, "replace", false, a.T("replace the server of that name", "替换同名服务器"))
	flags.StringVar(&f.name, "name", "", a.T("`NAME` in the config file of a server from a registry or a bundle", "来自注册表或安装包的服务器在配置文件中的名称 `NAME`"))
	flags.StringVar(&f.way, "package", "", a.T("`KIND` of package if a registry offers several: remote, npm, pypi, mcpb, oci, nuget", "注册表提供多种方式时选用的 `KIND`：remote、npm、pypi、mcpb、oci、nuget"))
	flags.StringArrayVar(&f.arg, "arg", nil, a.T("answer `NAME=VALUE` to a question of a registry or a bundle; may be repeated", "对注册表或安装包的问题的回答 `NAME=VALUE`，可重复"))
	flags.BoolVar(&f.dryRun, "dry-run", false, a.T("print the entry of a server of a registry or a bundle, and stop", "显示来自注册表或安装包的条目后停止"))
	flags.BoolVarP(&f.yes, "yes", "y", false, a.T("do not ask whether to install it", "不询问是否安装"))
	flags.BoolVar(&f.noSandbox, "no-sandbox", false, a.T("run it without a sandbox", "不使用沙箱运行"))
	return cmd
}

// addTyped adds a server by command or URL.
func addTyped(ctx context.Context, a *env.Env, f addFlags, name string, entry *install.Entry) error {
	r, err := offer.Typed(name, entry, nil).Ready(&config.Config{}, offer.Terms{Schema: f.schema, Replace: f.replace, CreateSchema: f.createSchema})
	if err != nil {
		return err
	}
	err = editFile(ctx, a, true, r.Write)
	if _, ok := errors.AsType[*offer.Exists](err); ok {
		return env.Fail(env.ExitUsage, env.CodeServerExists, a.T("--replace changes it", "--replace 可修改它"), "%s", a.T("server "+name+" exists already", "服务器 "+name+" 已存在"))
	}
	if _, missing := exec.LookPath(entry.Command); err == nil && entry.URL == "" && errors.Is(missing, exec.ErrNotFound) && !strings.Contains(entry.Command, "$") && !a.JSON {
		fmt.Fprintf(a.Stderr, a.T("warning: %s is not in PATH; once it is, see its state with: %s\n", "警告：PATH 中没有 %s；安装后查看其状态：%s\n"), i18n.Seen(entry.Command), a.Again("doctor", name))
	}
	return err
}

// notAName returns an error for a single word that looks like a name in a
// registry, but is none.
func notAName(a *env.Env, cmd *cobra.Command, args []string) error {
	if len(args) != 1 || cmd.ArgsLenAtDash() >= 0 || isURL(args[0]) || typed.WithDash(a, cmd) != "" {
		return nil
	}
	if strings.Contains(args[0], "/") && !strings.ContainsAny(args[0][:1], "./~") {
		return command.UsageError(a, cmd, i18n.Seen(args[0])+a.T(" is not a registry name: such a name has ASCII letters, digits, dots and dashes, and one slash with a dot before it",
			" 不是注册表中的名称：名称由 ASCII 字母、数字、点和连字符组成，含一个斜杠，且斜杠之前有一个点"))
	}
	return nil
}

// strangersOnly refuses the flags that have no meaning for a URL or a command.
func strangersOnly(a *env.Env, cmd *cobra.Command) error {
	for _, name := range []string{"name", "package", "arg", "dry-run", "yes", "no-sandbox"} {
		if cmd.Flags().Changed(name) {
			return command.UsageError(a, cmd, a.T("--"+name+" is for servers of a registry and for bundles", "--"+name+" 只用于来自注册表或安装包的服务器"))
		}
	}
	return nil
}

// newEntry returns the entry that the arguments of add describe.
func newEntry(a *env.Env, cmd *cobra.Command, f addFlags, args []string) (*install.Entry, error) {
	e := &install.Entry{Type: f.kind, Cwd: f.cwd}
	switch at := cmd.ArgsLenAtDash(); {
	case at == 1 && len(args) > 1:
		e.Command, e.Args = args[1], args[2:]
	case at < 0 && len(args) == 2 && isURL(args[1]):
		e.URL = args[1]
	case at < 0 && len(args) == 2 && strings.Contains(args[1], "://"):
		return nil, command.UsageError(a, cmd, fmt.Sprintf(a.T("%q is not a URL: it must start with http:// or https://", "%q 不是 URL：必须以 http:// 或 https:// 开头"), args[1]))
	case at == 0 && len(args) > 0:
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, typed.WithDash(a, cmd), "%s", a.T("a name for the server is missing before the command", "命令之前缺少服务器的名称"))
	case at == 1:
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, i18n.Command("mcp-all-in-one", "add", args[0], "--", "COMMAND"), "%s", a.T("a command is missing after --", "-- 之后缺少命令"))
	default:
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, cmp.Or(typed.WithDash(a, cmd), command.UseLine(a, cmd)), "%s",
			a.T("give a URL, or a command after --", "请给出 URL，或在 -- 之后给出命令"))
	}
	var err error
	if e.Env, err = pairs(f.env, "="); err != nil {
		return nil, command.UsageError(a, cmd, a.Lang.Of(err))
	}
	if e.Headers, err = pairs(f.header, ":"); err != nil {
		return nil, command.UsageError(a, cmd, a.Lang.Of(err))
	}
	return e, nil
}

// pairs parses NAME=VALUE or NAME: VALUE.
func pairs(list []string, sep string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, sep)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, notPair(text, sep)
		}
		values[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return values, nil
}

func notPair(text, sep string) error {
	return i18n.Errorf("%q is not NAME%sVALUE", "%q 不是 NAME%sVALUE", text, sep)
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// editFile changes the config file on behalf of the user at the command line,
// and makes a running gateway reload.
func editFile(ctx context.Context, a *env.Env, create bool, change func(*edit.Draft) error) error {
	found, err := config.Discover(a.LoadOptions(create))
	if err != nil {
		return err
	}
	demo := env.ShowsDemo(a)
	res, err := edit.Update(found.Path, a.WriteOptions(), change)
	if err != nil {
		return err
	}
	told, err := control.ReloadRunning(ctx, a, found.Path)
	if err != nil {
		return err
	}
	if told && res.Config.Cluster.Shares() {
		warnRejected(ctx, a)
	}
	if env.ShowJSON(a, map[string]any{"path": res.Path, "backup": res.Backup, "changed": res.Changed, "applied": told}) {
		return nil
	}
	if !res.Changed {
		fmt.Fprintf(a.Stderr, "%s\n", a.T("nothing changed", "没有变化"))
		return nil
	}
	note := ""
	if told {
		note = a.T(" (the running gateway uses it now)", "（正在运行的网关已采用新配置）")
	}
	fmt.Fprintf(a.Stderr, "%s%s%s\n", a.T("written: ", "已写入："), res.Path, note)
	if told && demo && env.HasServers(res.Config) {
		fmt.Fprintln(a.Stderr, a.T("the demo server was stopped, because another server is configured now; to keep it: ", "已有其他服务器，演示服务器已停止；如需保留：")+a.Again("add", "demo")+" -- mcp-all-in-one demo")
	}
	for _, p := range res.Config.Problems {
		fmt.Fprintln(a.Stderr, a.ProblemText(p))
	}
	return nil
}

func RemoveCommand(a *env.Env) *cobra.Command {
	var purge bool
	cmd := serverCommand(a, "remove", a.T("remove a server from the config file", "从配置文件移除服务器"), []string{"rm"},
		func(cmd *cobra.Command, schema, name string) error {
			before, err := a.Load(false)
			if err != nil {
				return err
			}
			if err := editFile(cmd.Context(), a, false, func(d *edit.Draft) error { return d.RemoveServer(schema, name) }); err != nil {
				return err
			}
			after, err := a.Load(false)
			if err != nil {
				return err
			}
			return clearAway(a, offer.Leftovers(a, before, after, before.Schema(schema).Server(name)), purge)
		})
	cmd.Flags().BoolVar(&purge, "purge", false, a.T("also delete its own folder, its bundle and its secrets", "同时删除它自己的文件夹、安装包与密钥"))
	return cmd
}

// clearAway deletes what a removed server left behind, after a yes.
func clearAway(a *env.Env, left []offer.Leftover, yes bool) error {
	for _, l := range left {
		done(a, a.T("left: ", "保留："), l.What.In(a.Lang))
	}
	if len(left) == 0 || !yes && (a.JSON || !env.IsTerminal(a.Stdin)) {
		return nil
	}
	if !yes {
		if err := confirm(a, a.T("Delete this, too? [y/N] ", "一并删除吗？[y/N] ")); err != nil {
			return nil // the server is removed
		}
	}
	for _, l := range left {
		if err := l.Delete(); err != nil {
			return err
		}
		done(a, a.T("deleted: ", "已删除："), l.What.In(a.Lang))
	}
	return nil
}

func EnableCommand(a *env.Env, on bool) *cobra.Command {
	name, short := "enable", a.T("switch a server on", "启用服务器")
	if !on {
		name, short = "disable", a.T("switch a server off", "停用服务器")
	}
	return serverCommand(a, name, short, nil, func(cmd *cobra.Command, schema, server string) error {
		return editFile(cmd.Context(), a, false, func(d *edit.Draft) error { return d.EnableServer(schema, server, on) })
	})
}

func RestartCommand(a *env.Env) *cobra.Command {
	return serverCommand(a, "restart", a.T("restart a server of the running gateway", "重启正在运行的网关中的服务器"), nil,
		func(cmd *cobra.Command, schema, name string) error {
			cfg, err := a.Load(false)
			if err != nil {
				return err
			}
			if s := cfg.Schema(schema).Server(name); !s.Enabled || s.Pending {
				return a.Usable(s)
			}
			r, err := control.RunningHere(cmd.Context(), a)
			if err != nil {
				return err
			}
			var page control.StatusPage
			if err := r.Get(cmd.Context(), "/status", &page); err != nil {
				return err
			}
			if err := control.SayUnread(a, &page, schema+"/"+name, name); err != nil {
				return err
			}
			if err := r.Post(cmd.Context(), "/api/v1/servers/"+url.PathEscape(schema)+"/"+url.PathEscape(name)+"/restart", nil, nil); err != nil {
				return err
			}
			done(a, a.T("restarted: ", "已重启："), name)
			return nil
		})
}

// done prints one line about what was done. It prints nothing with --json.
func done(a *env.Env, what, name string) {
	if !a.JSON {
		fmt.Fprintf(a.Stderr, "%s%s\n", what, name)
	}
}

// serverCommand returns a command for one configured server.
func serverCommand(a *env.Env, name, short string, aliases []string, run func(cmd *cobra.Command, schema, server string) error) *cobra.Command {
	var schema string
	cmd := &cobra.Command{
		Use: name + " NAME", Short: short, Aliases: aliases, Args: command.ArgCount(a, 1, 1), ValidArgsFunction: command.CompleteServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := env.FindServer(a, cmd.Name(), schema, args[0])
			if err != nil {
				return err
			}
			return run(cmd, s.Schema, s.Name)
		},
	}
	command.AddSchemaFlag(a, cmd, &schema)
	return cmd
}
