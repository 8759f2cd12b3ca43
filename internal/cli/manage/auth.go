package manage

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/oauth"
)

func AuthCommand(a *env.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "auth", Short: a.T("sign in to servers that require it", "登录需要授权的服务器"), Args: command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var user string
	var noBrowser, token bool
	login := serverCommand(a, "login", a.T("sign in to a server in the browser", "在浏览器中登录服务器"), nil,
		func(cmd *cobra.Command, schema, name string) error {
			return authLogin(a, cmd, schema+"/"+name, user, noBrowser)
		})
	login.Flags().BoolVar(&noBrowser, "no-browser", false, a.T("only print the address", "只显示地址"))
	login.Flags().BoolVar(&token, "token", false, a.T("ask for the token of a registry, also if it has a sign-in page", "询问注册表的令牌，即使它提供登录页面"))
	logout := serverCommand(a, "logout", a.T("sign out of a server and revoke the tokens", "注销并撤销授权"), nil,
		func(cmd *cobra.Command, schema, name string) error { return authLogout(a, cmd, schema+"/"+name, user) })
	login.Long = a.T("Signs in to a server in the browser, or to registry:NAME, a registry of the config file. For a registry without a sign-in page, it asks for a token, tries it, and stores it in the secret store.",
		"在浏览器中登录服务器，或登录配置文件中的注册表 registry:NAME。注册表没有登录页面时会询问令牌，验证可用后保存到密钥库。")
	orRegistry(a, login, func(cmd *cobra.Command, r *signIns) error { return r.login(cmd, noBrowser, token) })
	orRegistry(a, logout, func(cmd *cobra.Command, r *signIns) error { return r.logout(cmd) })
	for _, c := range []*cobra.Command{login, logout} {
		c.Flags().StringVar(&user, "user", "", a.T("on behalf of a `USER` of the gateway, such as key:ID; for servers with auth.perUser",
			"代表网关的用户 `USER`（如 key:ID）；用于 auth.perUser 的服务器"))
	}
	status := &cobra.Command{Use: "status [NAME]", Short: a.T("list the sign-ins", "列出登录状态"), Args: command.ArgCount(a, 0, 1), ValidArgsFunction: command.CompleteServers(a),
		RunE: func(cmd *cobra.Command, args []string) error { return authStatus(a, cmd, args) }}
	orRegistry(a, status, func(_ *cobra.Command, r *signIns) error { showSignIns(a, r.statuses()); return nil })
	cmd.AddCommand(login, logout, status)
	return cmd
}

// withTokens calls run with the tokens of a server.
func withTokens(a *env.Env, cmd *cobra.Command, server string, run func(*oauth.Keeper, *config.Server) error) error {
	cfg, err := a.Load(false)
	if err != nil {
		return err
	}
	var s *config.Server
	if server != "" {
		if s, err = env.FindServer(a, "auth "+cmd.Name(), config.DefaultSchema, server); err != nil {
			return err
		}
	}
	opt, err := instance.TokenOptions(cfg, a.Home())
	if err != nil {
		return err
	}
	keeper := oauth.NewKeeper(cmd.Context(), opt)
	defer keeper.Close()
	return run(keeper, s)
}

func authLogin(a *env.Env, cmd *cobra.Command, server, user string, noBrowser bool) error {
	return withTokens(a, cmd, server, func(keeper *oauth.Keeper, s *config.Server) error {
		if s.URL == "" {
			return env.Fail(env.ExitUsage, env.CodeSignIn, "", a.T("%q is not reached over HTTP, so there is nothing to sign in to", "%q 不通过 HTTP 访问，无需登录"), s.Name)
		}
		return browserLogin(a, cmd, keeper, s, oauth.LoginOptions{User: user}, noBrowser)
	})
}

// browserLogin shows the address where the person signs in, and waits for it.
func browserLogin(a *env.Env, cmd *cobra.Command, keeper *oauth.Keeper, s *config.Server, opt oauth.LoginOptions, noBrowser bool) error {
	opt.Base = httpclient.NewClientTransport()
	opt.Show = func(address string) {
		fmt.Fprintf(a.Stderr, "%s\n  %s\n", a.T("Sign in here:", "请在此登录："), address)
		if !noBrowser && env.OpenBrowser(address) != nil {
			fmt.Fprintln(a.Stderr, a.T("No browser could be opened; open the address yourself.", "无法打开浏览器；请自行打开该地址。"))
		}
	}
	got, err := keeper.Login(cmd.Context(), s, opt)
	if err != nil {
		return notLoggedIn(a, s, err)
	}
	if env.ShowJSON(a, got) {
		return nil
	}
	fmt.Fprintf(a.Stdout, "%s %s (%s)\n", a.T("signed in to", "已登录"), s.Name, got.Issuer)
	return nil
}

// notLoggedIn returns the error of a sign-in that failed, with the way out.
func notLoggedIn(a *env.Env, s *config.Server, err error) error {
	_, away := errors.AsType[*net.OpError](err)
	switch {
	case away:
		return env.Fail(env.ExitUnreachable, env.CodeUnreachable, "", "%w", err)
	case errors.Is(err, oauth.ErrNowhere):
		return env.Fail(env.ExitAuth, env.CodeSignIn, a.T(`it takes a key: "headers": {"Authorization": "Bearer ${secret:NAME}"} in its entry, and mcp-all-in-one secret set NAME`,
			`它需要密钥：在其条目中写 "headers": {"Authorization": "Bearer ${secret:NAME}"}，再运行 mcp-all-in-one secret set NAME`), "%w", err)
	case s.Credential() != "":
		return env.Fail(env.ExitAuth, env.CodeSignIn, a.T("correct "+s.Credential()+" of "+s.Name, "请更正 "+s.Name+" 的 "+s.Credential()), "%w", err)
	}
	return env.Fail(env.ExitAuth, env.CodeSignIn, "", "%w", err)
}

func authLogout(a *env.Env, cmd *cobra.Command, server, user string) error {
	return withTokens(a, cmd, server, func(keeper *oauth.Keeper, s *config.Server) error {
		err := keeper.Logout(cmd.Context(), s, user)
		if errors.Is(err, oauth.ErrNotSignedIn) {
			return notSignedIn(a, s.Name)
		}
		if _, untold := control.TellAll(cmd.Context(), a, control.SignInsChanged); untold != nil {
			fmt.Fprintf(a.Stderr, a.T("warning: a running gateway could not be notified and may use the sign-in until it expires: %s\n",
				"警告：无法通知某个正在运行的网关，它可能继续使用该登录直至过期：%s\n"), i18n.Why(untold).In(a.Lang))
		}
		if err == nil {
			done(a, a.T("signed out of ", "已注销 "), s.Name)
		}
		return err
	})
}

func notSignedIn(a *env.Env, name string) error {
	return env.Fail(env.ExitUsage, env.CodeSignIn, a.Again("auth", "status"), "%s%s%v", name, a.T(": ", "："), oauth.ErrNotSignedIn)
}

func authStatus(a *env.Env, cmd *cobra.Command, args []string) error {
	return withTokens(a, cmd, strings.Join(args, ""), func(keeper *oauth.Keeper, s *config.Server) error {
		list := keeper.Statuses(s)
		if s == nil {
			more, err := registryStatuses(a, cmd)
			if err != nil {
				return err
			}
			list = append(list, more...)
		}
		showSignIns(a, list)
		return nil
	})
}

func showSignIns(a *env.Env, list []oauth.Status) {
	t := &env.Table{Head: []string{a.T("server", "服务器"), a.T("user", "用户"), a.T("state", "状态"), a.T("issuer", "签发者"), a.T("scopes", "范围")},
		None: a.T("no sign-ins", "没有登录")}
	for _, g := range list {
		t.Add(g.Server, g.User, signInState(a, g), g.Issuer, strings.Join(g.Scopes, " "))
	}
	env.Show(a, list, t)
}

// signInState describes the state of a sign-in.
func signInState(a *env.Env, g oauth.Status) string {
	switch {
	case g.Revoked:
		return a.T("sign in again", "需要重新登录")
	case len(g.Wanted) > 0:
		return a.T("sign in again to grant ", "需要重新登录以授予 ") + strings.Join(g.Wanted, " ")
	case g.Renews || g.Expires.IsZero():
		return a.T("signed in", "已登录")
	case g.Expires.Before(time.Now()):
		return a.T("expired", "已过期")
	}
	return a.T("signed in until ", "已登录，至 ") + g.Expires.Local().Format("2006-01-02 15:04")
}
