package run

import (
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
)

func UICommand(a *env.Env) *cobra.Command {
	var stay bool
	cmd := &cobra.Command{
		Use:   "ui",
		Short: a.T("open the console of the running gateway in the browser", "在浏览器中打开正在运行的网关的控制台"),
		Args:  command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := control.RunningHere(cmd.Context(), a)
			if err != nil {
				return err
			}
			if !r.Console {
				return env.Fail(env.ExitFailure, env.CodeNoConsole, a.T("start it without --no-ui", "启动时不要使用 --no-ui"),
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
			env.OpenConsole(a, answer.URL)
			return nil
		},
	}
	cmd.Flags().BoolVar(&stay, "print", false, a.T("print the address instead of opening it", "只输出地址，不打开"))
	return cmd
}
