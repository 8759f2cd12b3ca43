package manage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/secrets"
)

func SecretCommand(a *env.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "secret", Short: a.T("keep secrets out of the config file", "将密钥保存在配置文件之外"), Args: command.NoArgs(a),
		Long: a.T("Stores secrets outside of the config file, which refers to them as ${secret:NAME}.",
			"将密钥保存在配置文件之外；配置中用 ${secret:NAME} 引用。"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var keychain bool
	var user string
	set := &cobra.Command{Use: "set NAME", Short: a.T("store a secret, read from standard input", "保存密钥（从标准输入读取）"), Args: command.ArgCount(a, 1, 1),
		Example: "  mcp-all-in-one secret set github < token.txt\n  mcp-all-in-one secret set github --keychain\n  mcp-all-in-one secret set github --user key:ID",
		RunE:    func(_ *cobra.Command, args []string) error { return secretSet(a, args[0], user, keychain) }}
	set.Flags().BoolVar(&keychain, "keychain", false, a.T("keep it in the keychain of the system instead of the encrypted file", "保存到系统钥匙串，而不是加密文件"))
	ls := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: a.T("list the names of the secrets", "列出名称"), Args: command.NoArgs(a),
		RunE: func(*cobra.Command, []string) error { return secretList(a, user) }}
	rm := &cobra.Command{Use: "rm NAME", Short: a.T("remove a secret", "删除密钥"), Args: command.ArgCount(a, 1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return secretRemove(a, args[0], user) }}
	for _, c := range []*cobra.Command{set, ls, rm} {
		c.Flags().StringVar(&user, "user", "", a.T("of a `USER` of the gateway, such as key:ID; for servers with perUser", "网关用户 `USER`（如 key:ID）的值；用于带 perUser 的服务器"))
	}
	cmd.AddCommand(set, ls, rm)
	return cmd
}

// checkUser refuses a name that cannot be a user of the gateway, because a
// value stored for it would never be used.
func checkUser(a *env.Env, user string) error {
	if slices.Contains([]string{access.Local.ID, access.Anonymous.ID, access.Owner.ID}, user) {
		return nil
	}
	for _, prefix := range []string{"key:", "token:"} {
		if len(user) > len(prefix) && strings.HasPrefix(user, prefix) {
			return nil
		}
	}
	return env.Fail(env.ExitUsage, env.CodeUsage, "--user key:ID|token:SUBJECT|local|anonymous|owner", a.T("%q is not a user of the gateway", "%q 不是网关的用户"), user)
}

func secretRemove(a *env.Env, name, user string) error {
	remove, list := a.Secrets().Delete, "mcp-all-in-one secret ls"
	if user != "" {
		if err := checkUser(a, user); err != nil {
			return err
		}
		remove, list = func(name string) error { return a.Secrets().Values().Delete(user, name) }, list+" --user "+i18n.Command(user)
	}
	err := remove(name)
	if errors.Is(err, secrets.ErrNoSecret) {
		return env.Fail(env.ExitUsage, env.CodeNoSecret, list, "%s", a.T("no secret "+name, "没有密钥 "+name))
	}
	if err == nil {
		done(a, a.T("removed: ", "已删除："), name)
	}
	return err
}

func secretSet(a *env.Env, name, user string, keychain bool) error {
	if user != "" {
		if err := checkUser(a, user); err != nil {
			return err
		}
		if keychain {
			return env.Fail(env.ExitUsage, env.CodeUsage, "", "%s", a.T("--keychain is for secrets of your own: leave it out with --user", "--keychain 只用于你自己的密钥：与 --user 一起时请去掉"))
		}
	}
	text, err := readSecret(a, name)
	if err != nil {
		return err
	}
	if text == "" {
		return env.Fail(env.ExitUsage, env.CodeUsage, i18n.Command("mcp-all-in-one", "secret", "set", name)+" < FILE", "%s", a.T("the secret is empty", "密钥为空"))
	}
	if _, err := a.UserDir(); err != nil {
		return err
	}
	if user != "" {
		if err := a.Secrets().Values().Set(user, name, text); err != nil {
			return err
		}
		fmt.Fprintf(a.Stderr, a.T("servers that have %[1]s in perUser get it in the calls of %[2]s\n", "perUser 中有 %[1]s 的服务器将在 %[2]s 的调用中得到它\n"), name, user)
		return nil
	}
	if err := storeSecret(a, name, text, keychain); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "%s${secret:%s}\n", a.T("use it as ", "已保存；引用方式："), name)
	return nil
}

// readSecret asks for a secret without echo, or reads standard input if that is
// no terminal.
func readSecret(a *env.Env, name string) (string, error) {
	var value []byte
	var err error
	if file, ok := a.Stdin.(*os.File); ok && env.IsTerminal(file) {
		fmt.Fprintf(a.Stderr, "%s: ", name)
		value, err = term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(a.Stderr)
	} else {
		value, err = io.ReadAll(io.LimitReader(a.Stdin, 1<<20))
	}
	if err != nil {
		return "", i18n.Errorf("reading the secret: %w", "读取密钥失败：%w", err)
	}
	return strings.TrimRight(string(value), "\r\n"), nil
}

func storeSecret(a *env.Env, name, value string, keychain bool) error {
	if !keychain {
		return a.Secrets().Set(name, value)
	}
	if err := a.Secrets().SetInKeychain(name, value); err != nil {
		return env.Fail(env.ExitFailure, env.CodeKeychain, a.T("leave --keychain out: the encrypted file needs no keychain", "不使用 --keychain：加密文件不需要钥匙串"), "%v", err)
	}
	return nil
}

func secretList(a *env.Env, user string) error {
	list, keychain := a.Secrets().List, a.Secrets().Keychain
	if user != "" {
		if err := checkUser(a, user); err != nil {
			return err
		}
		list = func() ([]string, error) { return a.Secrets().Values().List(user) }
		keychain = func() ([]string, error) { return nil, nil }
	}
	names, err := list()
	if err != nil {
		return err
	}
	chained, err := keychain()
	if err != nil {
		return err
	}
	if env.ShowJSON(a, append([]string{}, names...)) {
		return nil
	}
	for _, name := range names {
		if slices.Contains(chained, name) {
			name += "\t" + a.T("keychain", "钥匙串")
		}
		fmt.Fprintln(a.Stdout, name)
	}
	return nil
}
