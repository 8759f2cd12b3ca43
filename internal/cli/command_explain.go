package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain CODE",
		Short:   a.t("say what an error code means", "解释错误代码"),
		Example: "  mcp-all-in-one explain AIO2009",
		Args:    a.argCount(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, code := range codes() {
					fmt.Fprintln(a.Stdout, code)
				}
				return nil
			}
			code := strings.ToUpper(args[0])
			if e, ok := explain(code); ok {
				fmt.Fprintf(a.Stdout, "%s\n%s\n", code, a.t(e.en, e.zh))
				return nil
			}
			return fail(exitUsage, codeUsage, "mcp-all-in-one explain", "%s", a.t("no code "+code, "没有代码 "+code))
		},
	}
}

// explain finds what a code means: ours, or one of the config file.
func explain(code string) (explanation, bool) {
	if e, ok := explanations[code]; ok {
		return e, true
	}
	en, zh, ok := config.Explain(code)
	return explanation{en, zh}, ok
}

// codes are all that the program can print.
func codes() []string {
	list := append(config.Codes(), sortedKeys(explanations)...)
	slices.Sort(list)
	return list
}
