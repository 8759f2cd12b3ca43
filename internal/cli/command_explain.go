package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
)

// verbs stand for what a message is about.
var verbs = regexp.MustCompile(`%(\[\d\])?[a-z]`)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain CODE",
		Short:   a.t("say what an error code means", "解释错误代码"),
		Example: "  mcp-all-in-one explain AIO2009",
		Args:    a.argCount(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, code := range sortedKeys(explanations) {
					fmt.Fprintln(a.Stdout, code)
				}
				return nil
			}
			code := strings.ToUpper(args[0])
			if e, ok := explanations[code]; ok {
				fmt.Fprintf(a.Stdout, "%s\n%s\n", code, a.t(e.en, e.zh))
				return nil
			}
			if en, zh, ok := config.Explain(code); ok {
				fmt.Fprintf(a.Stdout, "%s\n%s\n", code, verbs.ReplaceAllString(a.t(en, zh), "…"))
				return nil
			}
			return fail(exitUsage, codeUsage, "mcp-all-in-one explain", "%s", a.t("no code "+code, "没有代码 "+code))
		},
	}
}
