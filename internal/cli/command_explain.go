package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
)

func explainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE]",
		Short:   a.t("say what an error code means, or list them all", "解释错误代码，或列出全部代码"),
		Example: "  mcp-all-in-one explain AIO2009",
		Args:    argCount(a, 0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				listCodes(a)
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

// listCodes lists all codes, with the first sentence of what they mean.
func listCodes(a *app) {
	type row struct {
		Code  string `json:"code"`
		Title string `json:"title"`
	}
	rows, t := []row{}, &table{head: []string{a.t("CODE", "代码"), a.t("MEANING", "含义")}}
	for _, code := range codes() {
		e, _ := explain(code)
		title := firstSentence(a.t(e.en, e.zh))
		rows = append(rows, row{code, title})
		t.add(code, title)
	}
	if a.asJSON {
		writeLine(a.Stdout, rows)
		return
	}
	a.print(t)
}

// firstSentence is what stands before the first full stop of either language.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	for _, stop := range []string{". ", "。"} {
		if head, _, found := strings.Cut(text, stop); found {
			text = head
		}
	}
	return strings.TrimSuffix(text, ".")
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
