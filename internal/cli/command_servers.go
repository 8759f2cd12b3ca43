package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// addFlags are those of add.
type addFlags struct {
	schema, cwd, kind string
	env, header       []string
	replace           bool
	createSchema      bool
}

func addCommand(a *app) *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add NAME URL | add NAME -- COMMAND [ARG...]",
		Short: a.t("add a server to the config file", "向配置文件添加服务"),
		Example: "  mcp-all-in-one add time -- uvx mcp-server-time\n" +
			"  mcp-all-in-one add notes --schema work --create-schema -- npx -y @modelcontextprotocol/server-memory\n" +
			"  mcp-all-in-one add github https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer ${GITHUB_TOKEN}'",
		Args: argCount(a, 2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, err := newEntry(a, cmd, f, args)
			if err != nil {
				return err
			}
			return editFile(cmd.Context(), a, true, func(d *config.Draft) error {
				if f.createSchema {
					if err := d.AddSchema(f.schema); err != nil {
						return err
					}
				}
				if d.Entry(f.schema, args[0]) != nil && !f.replace {
					return fail(exitUsage, codeServerExists, a.t("--replace changes it", "--replace 可修改它"), "%s", a.t("server "+args[0]+" exists already", "服务 "+args[0]+" 已存在"))
				}
				return d.SetServer(f.schema, args[0], entry)
			})
		},
	}
	flags := cmd.Flags()
	addSchemaFlag(a, cmd, &f.schema)
	flags.StringArrayVarP(&f.env, "env", "e", nil, a.t("environment variable `NAME=VALUE`; may be repeated", "环境变量 `NAME=VALUE`，可重复"))
	flags.StringArrayVarP(&f.header, "header", "H", nil, a.t("header `'NAME: VALUE'`; may be repeated", "请求头 `'NAME: VALUE'`，可重复"))
	flags.StringVar(&f.cwd, "cwd", "", a.t("`DIR` the command starts in", "命令的工作目录 `DIR`"))
	flags.StringVar(&f.kind, "type", "", a.t("`TYPE`: stdio, http or sse; found out when absent", "类型 `TYPE`：stdio、http 或 sse，缺省自动判断"))
	flags.BoolVar(&f.createSchema, "create-schema", false, a.t("add the schema of --schema when there is none", "--schema 指定的 schema 不存在时创建它"))
	flags.BoolVar(&f.replace, "replace", false, a.t("change the server of that name", "替换同名服务"))
	return cmd
}

// An entry is a server as add writes it.
type entry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// newEntry is the entry that the arguments of add describe.
func newEntry(a *app, cmd *cobra.Command, f addFlags, args []string) ([]byte, error) {
	e := entry{Type: f.kind, Cwd: f.cwd}
	switch at := cmd.ArgsLenAtDash(); {
	case at == 1:
		e.Command, e.Args = args[1], args[2:]
	case at < 0 && len(args) == 2 && isURL(args[1]):
		e.URL = args[1]
	default:
		return nil, usageError(a, cmd, a.t("give a URL, or a command after --", "请给出 URL，或在 -- 之后给出命令"))
	}
	var err error
	if e.Env, err = pairs(f.env, "="); err != nil {
		return nil, usageError(a, cmd, a.lang.Of(err))
	}
	if e.Headers, err = pairs(f.header, ":"); err != nil {
		return nil, usageError(a, cmd, a.lang.Of(err))
	}
	return json.Marshal(e)
}

// pairs reads NAME=VALUE or NAME: VALUE.
func pairs(list []string, sep string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, sep)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, i18n.Errorf("%q: NAME%sVALUE", "%q：应为 NAME%sVALUE", text, sep)
		}
		values[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return values, nil
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func addSchemaFlag(a *app, cmd *cobra.Command, schema *string) {
	cmd.Flags().StringVar(schema, "schema", config.DefaultSchema, a.t("schema `NAME` (default)", "schema `NAME`（default）"))
}

// editFile changes the config file on behalf of the person at the command
// line, and lets a running gateway know.
func editFile(ctx context.Context, a *app, create bool, edit func(*config.Draft) error) error {
	found, err := config.Discover(a.loadOptions(create))
	if err != nil {
		return err
	}
	demo := showsDemo(a)
	res, err := config.Update(found.Path, a.writeOptions(), edit)
	if err != nil {
		return err
	}
	told, err := reloadRunning(ctx, a, found.Path)
	if err != nil {
		return err
	}
	if a.asJSON {
		writeLine(a.Stdout, map[string]any{"path": res.Path, "backup": res.Backup, "changed": res.Changed, "applied": told})
		return nil
	}
	if !res.Changed {
		fmt.Fprintf(a.Stderr, "%s\n", a.t("nothing changed", "没有变化"))
		return nil
	}
	note := ""
	if told {
		note = a.t(" (the running gateway uses it now)", "（正在运行的网关已生效）")
	}
	fmt.Fprintf(a.Stderr, "%s%s%s\n", a.t("written: ", "已写入："), res.Path, note)
	if told && demo && hasServers(res.Config) {
		fmt.Fprintln(a.Stderr, a.t("the demo server has ended, now that there is another; keep it with: ", "已有其他服务，演示服务已结束；如需保留：")+a.again("add", "demo")+" -- mcp-all-in-one demo")
	}
	for _, p := range res.Config.Problems {
		fmt.Fprintln(a.Stderr, a.problemText(p))
	}
	return nil
}

func removeCommand(a *app) *cobra.Command {
	return serverCommand(a, "remove", a.t("remove a server from the config file", "从配置文件移除服务"), []string{"rm"},
		func(cmd *cobra.Command, schema, name string) error {
			return editFile(cmd.Context(), a, false, func(d *config.Draft) error { return d.RemoveServer(schema, name) })
		})
}

func enableCommand(a *app, on bool) *cobra.Command {
	name, short := "enable", a.t("switch a server on", "启用服务")
	if !on {
		name, short = "disable", a.t("switch a server off", "停用服务")
	}
	return serverCommand(a, name, short, nil, func(cmd *cobra.Command, schema, server string) error {
		return editFile(cmd.Context(), a, false, func(d *config.Draft) error { return d.EnableServer(schema, server, on) })
	})
}

func restartCommand(a *app) *cobra.Command {
	return serverCommand(a, "restart", a.t("start a server of the running gateway anew", "重启正在运行的网关中的服务"), nil,
		func(cmd *cobra.Command, schema, name string) error {
			r, err := runningHere(cmd.Context(), a)
			if err != nil {
				return err
			}
			if err := r.post(cmd.Context(), "/api/v1/servers/"+url.PathEscape(schema)+"/"+url.PathEscape(name)+"/restart", nil, nil); err != nil {
				return err
			}
			done(a, a.t("restarted: ", "已重启："), name)
			return nil
		})
}

// done says on one line what was done; JSON is for those who do not read.
func done(a *app, what, name string) {
	if !a.asJSON {
		fmt.Fprintf(a.Stderr, "%s%s\n", what, name)
	}
}

// serverCommand is a command about one configured server.
func serverCommand(a *app, name, short string, aliases []string, run func(cmd *cobra.Command, schema, server string) error) *cobra.Command {
	var schema string
	cmd := &cobra.Command{
		Use: name + " NAME", Short: short, Aliases: aliases, Args: argCount(a, 1, 1), ValidArgsFunction: completeServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := findServer(a, cmd.Name(), schema, args[0])
			if err != nil {
				return err
			}
			return run(cmd, s.Schema, s.Name)
		},
	}
	addSchemaFlag(a, cmd, &schema)
	return cmd
}

// completeServers completes the names of configured servers.
func completeServers(a *app) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		cfg, err := a.load(false)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, row := range configuredServers(cfg, nil) {
			names = append(names, row.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
