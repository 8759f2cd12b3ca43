package manage

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/install/offer"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/secrets"
)

// signIns are what is kept for one registry: a sign-in, or a token that a person
// entered.
type signIns struct {
	a        *env.Env
	registry *config.Registry
	server   *config.Server // the registry, to sign in to
	keeper   *oauth.Keeper
}

// orRegistry lets a command of a server take a registry as well.
func orRegistry(a *env.Env, cmd *cobra.Command, run func(*cobra.Command, *signIns) error) {
	server := cmd.RunE
	cmd.Use = strings.Replace(cmd.Use, "NAME", "NAME|"+install.Word+"NAME", 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, ok := strings.CutPrefix(strings.Join(args, ""), install.Word)
		if !ok {
			return server(cmd, args)
		}
		if cmd.Flags().Changed("user") {
			return env.Fail(env.ExitUsage, env.CodeUsage, "", "%s", a.T("a registry is signed in to once: --user is for servers", "注册表只登录一次：--user 用于服务器"))
		}
		cfg, err := a.Load(false)
		if err != nil {
			return err
		}
		var names []string
		for i := range cfg.Registries {
			if g := &cfg.Registries[i]; g.Name == name {
				keeper := offer.SignIns(cmd.Context(), cfg)
				defer keeper.Close()
				return run(cmd, &signIns{a, g, install.AsServer(g), keeper})
			}
			names = append(names, cfg.Registries[i].Name)
		}
		return env.Fail(env.ExitUsage, env.CodeUnknownName, "", "%v", i18n.Errorf("no registry is called %s; configured: %s", "没有名为 %s 的注册表；已配置：%s", name, cmp.Or(strings.Join(names, ", "), a.T("none", "无"))))
	}
}

// login signs in in the browser, or asks for a token if the registry names no
// place to sign in.
func (r *signIns) login(cmd *cobra.Command, noBrowser, token bool) error {
	if r.registry.Token != "" {
		return env.Fail(env.ExitUsage, env.CodeSignIn, "", "%v", i18n.Errorf("the config file has the token of %s (\"token\"), which is used: change it there", "%s 的令牌写在配置文件中（\"token\"），将使用它：请在那里修改", r.registry.Name))
	}
	opt := oauth.LoginOptions{Ask: install.ListPath, Base: httpclient.NewClientTransport()}
	if !token {
		offered, err := oauth.Offered(cmd.Context(), r.server, opt)
		if err != nil {
			return env.Fail(env.ExitAuth, env.CodeSignIn, "", "%w", err)
		}
		if offered {
			return r.browser(cmd, opt, noBrowser)
		}
	}
	return r.enter(cmd)
}

func (r *signIns) browser(cmd *cobra.Command, opt oauth.LoginOptions, noBrowser bool) error {
	if _, err := r.a.UserDir(); err != nil {
		return err
	}
	if err := browserLogin(r.a, cmd, r.keeper, r.server, opt, noBrowser); err != nil {
		return err
	}
	if err := r.dropToken(); !errors.Is(err, secrets.ErrNoSecret) {
		return err
	}
	return nil
}

// enter asks for the token of a registry, tries it there, and keeps it in the
// secret store.
func (r *signIns) enter(cmd *cobra.Command) error {
	a, g := r.a, r.registry
	token, err := readSecret(a, a.T("token of ", "令牌：")+g.URL)
	if err != nil {
		return err
	}
	if token == "" {
		return env.Fail(env.ExitUsage, env.CodeUsage, "", "%s", a.T("the token is empty", "令牌为空"))
	}
	if err := install.TryToken(cmd.Context(), *g, token); err != nil {
		return env.Fail(env.ExitAuth, env.CodeSignIn, "", "%v", i18n.Errorf("the token was not stored: %v", "令牌未保存：%v", i18n.Why(err)))
	}
	if _, err := a.UserDir(); err != nil {
		return err
	}
	if err := a.Secrets().Set(install.TokenName(g.URL), token); err != nil {
		return err
	}
	done(a, a.T("signed in to ", "已登录 "), g.Name)
	if err := r.keeper.Logout(cmd.Context(), r.server, ""); !errors.Is(err, oauth.ErrNotSignedIn) {
		return err
	}
	return nil
}

func (r *signIns) dropToken() error { return r.a.Secrets().Delete(install.TokenName(r.registry.URL)) }

func (r *signIns) logout(cmd *cobra.Command) error {
	entered, signed := r.dropToken(), r.keeper.Logout(cmd.Context(), r.server, "")
	switch {
	case errors.Is(entered, secrets.ErrNoSecret) && errors.Is(signed, oauth.ErrNotSignedIn):
		return notSignedIn(r.a, r.server.Name)
	case entered != nil && !errors.Is(entered, secrets.ErrNoSecret):
		return entered
	case signed != nil && !errors.Is(signed, oauth.ErrNotSignedIn):
		return signed
	}
	done(r.a, r.a.T("signed out of ", "已注销 "), r.registry.Name)
	return nil
}

// statuses returns the sign-in to the registry, and one without an issuer for a
// token that was entered.
func (r *signIns) statuses() []oauth.Status {
	list := r.keeper.Statuses(r.server)
	for i := range list {
		list[i].Server = r.server.Name
	}
	if token, err := r.a.Secrets().Get(install.TokenName(r.registry.URL)); err == nil && token != "" {
		list = append(list, oauth.Status{Server: r.server.Name})
	}
	return list
}

// registryStatuses returns the sign-ins to all registries of the config file.
func registryStatuses(a *env.Env, cmd *cobra.Command) ([]oauth.Status, error) {
	cfg, err := a.Load(false)
	if err != nil || len(cfg.Registries) == 0 {
		return nil, err
	}
	keeper := offer.SignIns(cmd.Context(), cfg)
	defer keeper.Close()
	var list []oauth.Status
	for i := range cfg.Registries {
		g := &cfg.Registries[i]
		r := signIns{a, g, install.AsServer(g), keeper}
		list = append(list, r.statuses()...)
	}
	return list, nil
}
