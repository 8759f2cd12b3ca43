package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
)

func ExplainCommand(a *Env) *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE]",
		Short:   a.T("say what an error code means, or list them all", "解释错误代码，或列出全部代码"),
		Example: "  mcp-all-in-one explain AIO2009",
		Args:    ArgCount(a, 0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				listCodes(a)
				return nil
			}
			code := strings.ToUpper(args[0])
			if e, ok := Explain(code); ok {
				fmt.Fprintf(a.Stdout, "%s\n%s\n", code, a.T(e.EN, e.ZH))
				return nil
			}
			return Fail(ExitUsage, CodeUsage, "mcp-all-in-one explain", "%s", a.T("no code "+code, "没有代码 "+code))
		},
	}
}

// listCodes lists all codes, with the first sentence of what they mean.
func listCodes(a *Env) {
	type row struct {
		Code  string `json:"code"`
		Title string `json:"title"`
	}
	rows, t := []row{}, &Table{Head: []string{a.T("CODE", "代码"), a.T("MEANING", "含义")}}
	for _, code := range Codes() {
		e, _ := Explain(code)
		title := FirstSentence(a.T(e.EN, e.ZH))
		rows = append(rows, row{code, title})
		t.Add(code, title)
	}
	if a.JSON {
		WriteLine(a.Stdout, rows)
		return
	}
	a.Print(t)
}

// FirstSentence is what stands before the first full stop of either language.
func FirstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	for _, stop := range []string{". ", "。"} {
		if head, _, found := strings.Cut(text, stop); found {
			text = head
		}
	}
	return strings.TrimSuffix(text, ".")
}

// Explain finds what a code means: ours, or one of the config file.
func Explain(code string) (explanation, bool) {
	if e, ok := explanations[code]; ok {
		return e, true
	}
	en, zh, ok := config.Explain(code)
	return explanation{en, zh}, ok
}

// Codes are all that the program can print.
func Codes() []string {
	list := append(config.Codes(), SortedKeys(explanations)...)
	slices.Sort(list)
	return list
}
