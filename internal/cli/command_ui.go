package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
)

func UICommand(a *Env) *cobra.Command {
	var stay bool
	cmd := &cobra.Command{
		Use:   "ui",
		Short: a.T("open the console of the running gateway in the browser", "在浏览器中打开正在运行的网关的控制台"),
		Args:  NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := RunningHere(cmd.Context(), a)
			if err != nil {
				return err
			}
			if !r.Console {
				return Fail(ExitFailure, CodeNoConsole, a.T("start it without --no-ui", "启动时不要使用 --no-ui"),
					"%s", a.T("the gateway runs without its console", "网关没有提供控制台"))
			}
			var answer struct {
				URL string `json:"url"`
			}
			if err := r.Post(cmd.Context(), "/code", nil, &answer); err != nil {
				return err
			}
			if stay {
				fmt.Fprintln(a.Stdout, answer.URL)
				return nil
			}
			OpenConsole(a, answer.URL)
			return nil
		},
	}
	cmd.Flags().BoolVar(&stay, "print", false, a.T("print the address instead of opening it", "只输出地址，不打开"))
	return cmd
}

// OpenConsole opens a URL with its one-time code, or prints it where there is
// no browser.
func OpenConsole(a *Env, url string) {
	if err := OpenBrowser(url); err != nil {
		fmt.Fprintf(a.Stdout, "%s %s\n", a.T("open", "请打开"), url)
		return
	}
	page, _, _ := strings.Cut(url, "#") // the code logs in once, and the browser has it
	fmt.Fprintf(a.Stderr, "%s%s\n%s%s\n", a.T("opened in the browser: ", "已在浏览器中打开："), page,
		a.T("to print an address that logs in: ", "输出可直接登录的地址："), a.Again("ui", "--print"))
}

// RunningHere finds the running gateway of our config file, or says that there
// is none.
func RunningHere(ctx context.Context, a *Env) (*Remote, error) {
	path := ""
	if found, err := config.Discover(a.LoadOptions(false)); err == nil {
		path = found.Path
	}
	if r := Running(ctx, a, path); r != nil {
		return r, nil
	}
	if a.ConfigPath == "" {
		if r := Running(ctx, a, ""); r != nil {
			return r, nil
		}
	}
	return nil, Fail(ExitUnreachable, CodeNotRunning, "mcp-all-in-one http", "%s",
		a.T("no gateway is running with this configuration", "没有使用此配置的网关正在运行"))
}
