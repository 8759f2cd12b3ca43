package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/install/offer"
	"mcp-all-in-one/internal/lock"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/lint"
)

func UpdateCommand(a *env.Env) *cobra.Command {
	var f addFlags
	var to string
	cmd := &cobra.Command{
		Use: "update [NAME]", Short: a.T("install a newer version of a server from a registry or a bundle", "安装来自注册表或安装包的服务器的新版本"), Args: command.ArgCount(a, 0, 1), ValidArgsFunction: command.CompleteServers(a),
		Long: a.T("Looks up the registry or the bundle that a server was added from, and shows how a newer version changes its entry and its questions. After you confirm, the entry is written and the server started; if it does not start, the old entry is restored. Without a name, it lists the available version of each server.",
			"查询服务器添加时的注册表或安装包，并显示新版本对条目及其问题的改变。确认后写入条目并启动服务器；若无法启动，则恢复原条目。不给名称时列出各服务器可用的版本。"),
		Example: "  mcp-all-in-one update\n  mcp-all-in-one update airtable\n  mcp-all-in-one update airtable --to 1.7.2",
		RunE: func(cmd *cobra.Command, args []string) error {
			answers, err := givenAnswers(f)
			if err != nil {
				return command.UsageError(a, cmd, a.Lang.Of(err))
			}
			if len(args) == 0 {
				return listUpdates(cmd.Context(), a)
			}
			s, err := env.FindServer(a, cmd.Name(), f.schema, args[0])
			if err != nil {
				return err
			}
			return updateServer(cmd.Context(), a, s, to, f.yes, answers)
		},
	}
	flags := cmd.Flags()
	command.AddSchemaFlag(a, cmd, &f.schema)
	flags.StringVar(&to, "to", "", a.T("install `VERSION` instead of the latest one", "安装 `VERSION` 而不是最新版本"))
	flags.StringArrayVarP(&f.env, "env", "e", nil, a.T("environment variable `NAME=VALUE` that it asks for; may be repeated", "它所询问的环境变量 `NAME=VALUE`，可重复"))
	flags.StringArrayVarP(&f.header, "header", "H", nil, a.T("header `'NAME: VALUE'` that it asks for; may be repeated", "它所询问的请求头 `'NAME: VALUE'`，可重复"))
	flags.StringArrayVar(&f.arg, "arg", nil, a.T("answer `NAME=VALUE` to one of its questions; may be repeated", "用 `NAME=VALUE` 回答它的一个问题，可重复"))
	flags.BoolVarP(&f.yes, "yes", "y", false, a.T("install it without asking", "不询问，直接安装"))
	return cmd
}

// available is a newer version of a server, if there is one.
type available struct {
	Name    string `json:"name"`
	From    string `json:"from"`
	To      string `json:"to,omitempty"`
	Newer   bool   `json:"newer"`
	Older   bool   `json:"older,omitempty"`
	Problem string `json:"error,omitempty"`
}

// listUpdates lists the versions that the origins of all servers offer now.
func listUpdates(ctx context.Context, a *env.Env) error {
	cfg, err := a.Load(false)
	if err != nil {
		return err
	}
	list := []available{}
	for _, schema := range cfg.Schemas {
		for _, s := range schema.Servers {
			if s.Origin == (config.Origin{}) {
				continue
			}
			one := available{Name: lock.Key(s), From: install.Show(s.Origin.Version)}
			switch u, err := offer.FindUpdate(ctx, a, cfg, s, ""); {
			case err != nil:
				one.Problem = a.Lang.Of(err)
			case u.Offer != nil:
				one.Newer, one.Older = !u.Older, u.Older
				u.Close()
				fallthrough
			default:
				one.To = install.Show(u.To)
			}
			list = append(list, one)
		}
	}
	t := &env.Table{Head: []string{a.T("NAME", "名称"), a.T("INSTALLED", "已安装"), a.T("AVAILABLE", "可用版本"), a.T("NOTE", "备注")},
		None: a.T("no server was added from a registry or a bundle", "没有来自注册表或安装包的服务器")}
	for _, one := range list {
		note := one.Problem
		switch {
		case one.Newer:
			note = a.Again("update", one.Name)
		case one.Older:
			note = a.T("older", "更旧")
		}
		t.Add(one.Name, one.From, one.To, note)
	}
	env.Show(a, list, t)
	return nil
}

// versionChange is a change of a server to another version.
type versionChange struct {
	Name    string               `json:"name"`
	From    string               `json:"from"`
	To      string               `json:"to"`
	Changes []lint.FeatureChange `json:"changes"`
	Written bool                 `json:"written"`
}

// updateServer shows what another version of a server changes. After
// confirmation it writes and starts that version.
func updateServer(ctx context.Context, a *env.Env, s *config.Server, to string, yes bool, given install.Answers) error {
	cfg, err := a.Load(false)
	if err != nil {
		return err
	}
	u, err := offer.FindUpdate(ctx, a, cfg, s, to)
	if err != nil {
		return notUpdated(a, err)
	}
	change := &versionChange{Name: lock.Key(s), From: u.From, To: u.To, Changes: []lint.FeatureChange{}}
	if u.Offer == nil {
		return tell(a, change, a.T("nothing to update: ", "无需更新：")+change.Name+", "+install.Show(u.To))
	}
	defer u.Close()
	for kind, answers := range given {
		for id, texts := range answers {
			u.Answers.Set(&install.Question{Kind: kind, ID: id}, texts...)
		}
	}
	if err := askAll(ctx, a, u.Open(), u.Answers); err != nil {
		return said(a, err)
	}
	r, err := u.Ready(cfg)
	if err != nil {
		return said(a, err)
	}
	change.Changes = append(change.Changes, compared(features(s.Name, u.Was(), u.Asked), features(s.Name, r.Entry, u.Questions))...)
	if a.JSON && !yes {
		env.WriteLine(a.Stdout, change)
	}
	showOffer(a, u.Offer, u.Rows())
	if !a.JSON {
		fmt.Fprintf(a.Stdout, "%s: %s -> %s\n", change.Name, install.Show(u.From), install.Show(u.To))
		printChanges(a, change.Changes)
	}
	if yes && u.Older && to == "" {
		return env.Fail(env.ExitFailure, env.CodeUpdate, a.T("name the version with --to, or leave out --yes to be asked", "用 --to 指明该版本，或去掉 --yes 以便询问"), "%v",
			i18n.Errorf("%s is older than the installed %s, which --yes does not take; nothing was changed", "%s 比已安装的 %s 更旧，--yes 不会采用；未作任何修改", install.Show(u.To), install.Show(u.From)))
	}
	var why error
	switch {
	case u.Moved:
		why = i18n.Errorf("the new version of %s is at another host, which would get its secrets; --yes does not take that; nothing was changed", "%s 的新版本位于另一主机，它会得到密钥；--yes 不会采用；未作任何修改", change.Name)
	case u.OtherSigner:
		why = i18n.Errorf("the new version of %s has another signer, or none; --yes does not take that; nothing was changed", "%s 的新版本由他人签名，或没有签名；--yes 不会采用；未作任何修改", change.Name)
	}
	if yes && why != nil {
		return env.Fail(env.ExitFailure, env.CodeUpdate, a.T("leave out --yes to be asked", "去掉 --yes 以便询问"), "%v", why)
	}
	if r.Entry, err = agree(ctx, a, a.T("Write and start this version?", "写入并启动这个版本吗？"), yes, r); err != nil {
		return err
	}
	if err := carryOut(ctx, a, r); err != nil {
		return notUpdated(a, err)
	}
	change.Written = true
	if file, err := lock.Open(cfg.Path); err == nil && file.Servers[change.Name] != nil {
		fmt.Fprintln(a.Stderr, a.T("mcp.lock holds the old version; lock this one with: ", "mcp.lock 中仍是旧版本；锁定新版本：")+a.AgainFor("lock", s))
	}
	return tell(a, change, a.T("updated: ", "已更新：")+change.Name+", "+install.Show(u.To))
}

// features returns an entry and its questions in a form that can be compared.
func features(name string, entry []byte, questions []install.Question) lint.Features {
	asked := map[string]json.RawMessage{}
	for _, q := range questions {
		asked[q.ID] = probe.Encode(q)
	}
	return lint.Features{"entries": {name: entry}, "questions": asked}
}

// notUpdated adds the code to an error of an update.
func notUpdated(a *env.Env, err error) error {
	if errors.As(err, new(*env.ExitError)) || errors.As(err, new(*install.Error)) {
		return said(a, err)
	}
	return env.Fail(env.ExitFailure, env.CodeUpdate, "", "%v", err)
}
