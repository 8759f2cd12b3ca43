package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mcp-all-in-one/internal/config"
)

func (a *app) secretCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "secret", Short: a.t("keep secrets out of the config file", "将密钥保存在配置文件之外"), Args: a.noArgs,
		Long: a.t("Keeps secrets out of the config file, where ${secret:NAME} stands for one.",
			"将密钥保存在配置文件之外；配置中用 ${secret:NAME} 引用。"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(
		&cobra.Command{Use: "set NAME", Short: a.t("store a secret, read from standard input", "保存密钥（从标准输入读取）"), Args: a.argCount(1, 1),
			Example: "  mcp-all-in-one secret set github < token.txt",
			RunE:    func(_ *cobra.Command, args []string) error { return a.secretSet(args[0]) }},
		&cobra.Command{Use: "ls", Short: a.t("list the names", "列出名称"), Args: a.noArgs, RunE: func(*cobra.Command, []string) error { return a.secretList() }},
		&cobra.Command{Use: "rm NAME", Short: a.t("remove a secret", "删除密钥"), Args: a.argCount(1, 1),
			RunE: func(_ *cobra.Command, args []string) error {
				err := a.secrets().Delete(args[0])
				if errors.Is(err, config.ErrNoSecret) {
					return fail(exitUsage, codeNoSecret, "mcp-all-in-one secret ls", "%s", a.t("no secret "+args[0], "没有密钥 "+args[0]))
				}
				return err
			}},
	)
	return cmd
}

func (a *app) secrets() *config.FileStore { return config.NewFileStore(config.UserDir(a.home())) }

// home is the user's home directory.
func (a *app) home() string {
	home, _ := os.UserHomeDir() // without one there is no file to find either
	return home
}

func (a *app) secretSet(name string) error {
	var value []byte
	var err error
	if file, ok := a.Stdin.(*os.File); ok && isTerminal(file) {
		fmt.Fprintf(a.Stderr, "%s: ", name)
		value, err = term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(a.Stderr)
	} else {
		value, err = io.ReadAll(io.LimitReader(a.Stdin, 1<<20))
	}
	if err != nil {
		return fmt.Errorf("reading the secret: %w", err)
	}
	text := strings.TrimRight(string(value), "\r\n")
	if text == "" {
		return fail(exitUsage, codeUsage, "mcp-all-in-one secret set "+name+" < FILE", "%s", a.t("the secret is empty", "密钥为空"))
	}
	if err := os.MkdirAll(config.UserDir(a.home()), 0o700); err != nil {
		return err
	}
	if err := a.secrets().Set(name, text); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "%s ${secret:%s}\n", a.t("use it as", "引用方式"), name)
	return nil
}

func (a *app) secretList() error {
	names, err := a.secrets().List()
	if err != nil {
		return err
	}
	if a.asJSON {
		writeLine(a.Stdout, append([]string{}, names...))
		return nil
	}
	for _, name := range names {
		fmt.Fprintln(a.Stdout, name)
	}
	return nil
}
