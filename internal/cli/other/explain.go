// Package other implements the commands that belong to no other group.
package other

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/env"
)

func ExplainCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE]",
		Short:   a.T("explain an error code, or list them all", "解释错误代码，或列出全部代码"),
		Example: "  mcp-all-in-one explain AIO2009",
		Args:    command.ArgCount(a, 0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				listCodes(a)
				return nil
			}
			code := strings.ToUpper(args[0])
			for _, code := range []string{code, "AIO" + code} {
				if e, ok := env.Explain(code); ok {
					fmt.Fprintf(a.Stdout, "%s\n%s\n", code, a.T(e.EN, e.ZH))
					return nil
				}
			}
			return env.Fail(env.ExitUsage, env.CodeUsage, "mcp-all-in-one explain", "%s", a.T("there is no error code "+code, "没有错误代码 "+code))
		},
	}
}

// listCodes lists all error codes, each with the first sentence of its
// explanation.
func listCodes(a *env.Env) {
	type row struct {
		Code  string `json:"code"`
		Title string `json:"title"`
	}
	rows, t := []row{}, &env.Table{Head: []string{a.T("CODE", "代码"), a.T("MEANING", "含义")}}
	for _, code := range env.Codes() {
		e, _ := env.Explain(code)
		title := env.FirstSentence(a.T(e.EN, e.ZH))
		rows = append(rows, row{code, title})
		t.Add(code, title)
	}
	env.Show(a, rows, t)
}
