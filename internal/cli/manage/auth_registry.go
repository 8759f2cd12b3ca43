package manage

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/secrets"
)

// registryWord precedes the name of a registry where a server's name stands
// otherwise.
const registryWord = "registry:"

// orRegistry lets a command of a server take a registry as well.
func orRegistry(a *env.Env, cmd *cobra.Command, run func(*cobra.Command, *config.Registry) error) {
	server := cmd.RunE
	cmd.Use = strings.Replace(cmd.Use, "NAME", "NAME|"+registryWord+"NAME", 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, ok := strings.CutPrefix(args[0], registryWord)
		if !ok {
			return server(cmd, args)
		}
		cfg, err := a.Load(false)
		if err != nil {
			return err
		}
		var names []string
		for i := range cfg.Registries {
			if cfg.Registries[i].Name == name {
				return run(cmd, &cfg.Registries[i])
			}
			names = append(names, cfg.Registries[i].Name)
		}
		return env.Fail(env.ExitUsage, env.CodeUnknownName, "", "%v", i18n.Errorf("no registry is called %s; configured: %s", "没有名为 %s 的注册表；已配置：%s", name, strings.Join(names, ", ")))
	}
}

// registryLogin asks for the token of a registry, tries it there, and keeps it
// in the secret store.
func registryLogin(a *env.Env, cmd *cobra.Command, g *config.Registry) error {
	if g.Token != "" {
		return env.Fail(env.ExitUsage, env.CodeSignIn, "", "%v", i18n.Errorf("the config file has the token of %s (\"token\"), which is used: change it there", "%s 的令牌写在配置文件中（\"token\"），将使用它：请在那里修改", g.Name))
	}
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
	return nil
}

func registryLogout(a *env.Env, _ *cobra.Command, g *config.Registry) error {
	err := a.Secrets().Delete(install.TokenName(g.URL))
	if errors.Is(err, secrets.ErrNoSecret) {
		return env.Fail(env.ExitUsage, env.CodeSignIn, "", "%s%s%v", g.Name, a.T(": ", "："), i18n.Errorf("not signed in", "尚未登录"))
	}
	if err == nil {
		done(a, a.T("signed out of ", "已注销 "), g.Name)
	}
	return err
}
