package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// keyFlags are the flags of key create.
type keyFlags struct {
	scopes  []string
	expires time.Duration
}

func KeyCommand(a *env.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: a.T("manage the API keys of clients", "管理客户端的 API 密钥"), Args: command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var f keyFlags
	create := &cobra.Command{Use: "create NAME", Short: a.T("create a key and print it once", "创建 API 密钥，只显示一次"), Args: command.ArgCount(a, 1, 1),
		Long: a.T("Creates a key and prints it once. The schemas must exist. Servers and tools may be added\nlater: a pattern that matches none of them now is only a warning.",
			"创建 API 密钥，只显示一次。不存在的 schema 会被拒绝。服务器与工具可以以后再添加：\n范围目前没有匹配时只给出警告。"),
		Example: "  mcp-all-in-one key create laptop\n  mcp-all-in-one key create ci --scope schema:default --scope readonly --expires 720h",
		RunE:    func(cmd *cobra.Command, args []string) error { return keyCreate(a, cmd, args[0], f) }}
	create.Flags().StringArrayVar(&f.scopes, "scope", nil, a.T("`SCOPE`: schema:NAME, server:NAME, tool:NAME, readonly or admin; mode:NAME and fit:NAME say what is shown, code adds scripts, results:SIZE says how large a result is shown whole, calls:N how many calls a minute may have; may be repeated",
		"范围 `SCOPE`：schema:NAME、server:NAME、tool:NAME、readonly 或 admin；mode:NAME 与 fit:NAME 决定显示方式，code 增加脚本，results:SIZE 为完整显示的结果的最大大小，calls:N 为每分钟的调用数；可重复"))
	create.Flags().DurationVar(&f.expires, "expires", 0, a.T("the key expires after this `TIME`, like 720h", "有效期 `TIME`，如 720h"))
	cmd.AddCommand(create,
		&cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: a.T("list the keys", "列出 API 密钥"), Args: command.NoArgs(a), RunE: func(*cobra.Command, []string) error { return keyList(a) }},
		&cobra.Command{Use: "revoke ID|NAME", Short: a.T("revoke a key at once", "立即撤销 API 密钥"), Args: command.ArgCount(a, 1, 1),
			Long: a.T("Revokes a key. When the command has printed its line, the running gateway has ended the\nsessions of the key and accepts no more calls with it. A gateway of another user of this\nmachine, and other replicas of a cluster, notice within a second.",
				"撤销 API 密钥。命令输出结果时，正在运行的网关已结束使用该密钥的会话，不再接受用它发出的调用。\n本机其他用户的网关以及集群的其他副本会在一秒内得知。"),
			RunE: func(cmd *cobra.Command, args []string) error { return keyRevoke(cmd.Context(), a, args[0]) }})
	return cmd
}

// keys opens the key file that the config names, or the user's default key
// file.
func keys(a *env.Env) (*access.Keys, *config.Config, string, error) {
	cfg, err := a.Load(false)
	if err != nil {
		return nil, nil, "", err
	}
	path := cfg.Access.Keys
	switch {
	case path != "":
	case cfg.Cluster.Shares(): // each replica has a copy beside its own config file
		path = filepath.Join(filepath.Dir(cfg.Path), "keys.json")
	default:
		dir, err := a.UserDir()
		if err != nil {
			return nil, nil, "", err
		}
		path = filepath.Join(dir, "keys.json")
	}
	docs, err := instance.Documents(cfg)
	if err != nil {
		return nil, nil, "", err
	}
	keys, err := access.OpenKeys(path, docs)
	return keys, cfg, path, err
}

func keyCreate(a *env.Env, cmd *cobra.Command, name string, f keyFlags) error {
	grant, err := access.ParseScopes(f.scopes)
	if err != nil {
		hint := "mcp-all-in-one key create --help"
		if e, ok := errors.AsType[*access.ScopeError](err); ok && e.Kind == "" {
			if near := spelling.Nearest(e.Scope, access.Scopes); near != "" {
				hint = a.T("did you mean ", "是否要用 ") + near + a.T("?", "？")
			}
		}
		return env.Fail(env.ExitUsage, env.CodeUsage, hint, "%v", err)
	}
	keys, cfg, path, err := keys(a)
	if err != nil {
		return err
	}
	if err := checkScopes(cmd.Context(), a, cfg, grant); err != nil {
		return err
	}
	var expires *time.Time
	if f.expires > 0 {
		at := time.Now().Add(f.expires).UTC()
		expires = &at
	}
	plain, key, err := keys.Create(name, grant, expires)
	if errors.Is(err, access.ErrKeyExists) {
		return env.Fail(env.ExitUsage, env.CodeKeyExists, a.Again("key", "revoke", name), "%s", a.T("a valid key is called "+name+" already", "已有名为 "+name+" 的有效密钥"))
	}
	if err != nil {
		return err
	}
	env.OutlivePipe() // a key that could not be shown is revoked
	if a.JSON {
		err = env.WriteLine(a.Stdout, map[string]any{"key": plain, "id": key.ID, "name": key.Name, "scopes": append([]string{}, key.Scopes()...), "expires": key.Expires})
	} else {
		_, err = fmt.Fprintln(a.Stdout, plain)
	}
	if err != nil {
		if _, failed := keys.Revoke(key.ID); failed != nil {
			return i18n.Errorf("the key %s could not be shown (%w), and is still valid: %w", "密钥 %s 未能显示（%w），且仍然有效：%w", name, err, failed)
		}
		return i18n.Errorf("the key %s could not be shown, and was revoked: %w", "密钥 %s 未能显示，已撤销：%w", name, err)
	}
	if cfg.Access.Keys != "" {
		return nil
	}
	return requireKeys(a, cmd, cfg, path)
}

// requireKeys makes the gateway require a key after the first one was created.
func requireKeys(a *env.Env, cmd *cobra.Command, cfg *config.Config, path string) error {
	if cfg.Cluster.Shares() { // the path is read on other machines, too
		path = filepath.Base(path)
	}
	quoted, err := json.Marshal(path)
	if err != nil {
		return err
	}
	if _, err := edit.Update(cfg.Path, a.WriteOptions(), func(d *edit.Draft) error { return d.SetValue("access.keys", quoted) }); err != nil {
		return err
	}
	told, err := control.ReloadRunning(cmd.Context(), a, cfg.Path)
	if err != nil {
		return err
	}
	if told {
		fmt.Fprintln(a.Stderr, a.T("access.keys was set in "+cfg.Path+": the running gateway asks every client for a key now",
			"已在 "+cfg.Path+" 中设置 access.keys：正在运行的网关现在要求所有客户端提供密钥"))
		return nil
	}
	fmt.Fprintln(a.Stderr, a.T("access.keys was set in "+cfg.Path+": the gateway asks every client for a key",
		"已在 "+cfg.Path+" 中设置 access.keys：网关要求所有客户端提供密钥"))
	return nil
}

func keyList(a *env.Env) error {
	keys, _, _, err := keys(a)
	if err != nil {
		return err
	}
	list, err := keys.List()
	if err != nil {
		return err
	}
	t := &env.Table{Head: []string{"ID", a.T("NAME", "名称"), a.T("STATE", "状态"), a.T("SCOPES", "范围"), a.T("CREATED", "创建时间")},
		None: a.T("no keys; create one with: ", "还没有 API 密钥；创建：") + "mcp-all-in-one key create NAME", Word: keyState(a)}
	for i := range list {
		k, state := &list[i], "valid"
		k.Hash = ""
		switch {
		case k.Revoked != nil:
			state = "revoked"
		case !k.Valid(time.Now()):
			state = "expired"
		}
		t.Add(k.ID, k.Name, state, strings.Join(k.Scopes(), " "), k.Created.Format(time.RFC3339))
	}
	env.Show(a, append([]access.Key{}, list...), t)
	return nil
}

// keyState translates the column of states to the user's language.
func keyState(a *env.Env) func(int, string) string {
	zh := map[string]string{"valid": "有效", "revoked": "已撤销", "expired": "已过期"}
	return func(column int, cell string) string {
		if column != 2 {
			return cell
		}
		return a.T(cell, zh[cell])
	}
}

func keyRevoke(ctx context.Context, a *env.Env, name string) error {
	keys, _, _, err := keys(a)
	if err != nil {
		return err
	}
	key, err := keys.Revoke(name)
	if errors.Is(err, access.ErrNoKey) {
		return env.Fail(env.ExitUsage, env.CodeNoKey, a.Again("key", "ls"), "%s", a.T("no valid key has the name or id "+name, "没有名称或 ID 为 "+name+" 的有效密钥"))
	}
	if err != nil {
		return err
	}
	told, err := control.TellAll(ctx, a, control.KeysChanged)
	fmt.Fprintf(a.Stderr, "%s%s\n", a.T("revoked: ", "已撤销："), key.Name)
	switch {
	case err != nil:
		fmt.Fprintf(a.Stderr, a.T("warning: a running gateway could not be notified and may accept calls with this key for another second: %s\n",
			"警告：无法通知某个正在运行的网关，它可能在一秒内仍接受此密钥的调用：%s\n"), i18n.Why(err).In(a.Lang))
	case told:
		fmt.Fprintln(a.Stderr, a.T("the running gateway accepts no more calls with it", "正在运行的网关不再接受它的任何调用"))
	}
	// No other key has this ID, so the values of this key cannot be used any
	// more.
	return a.Secrets().Values().Forget("key:" + key.ID)
}
