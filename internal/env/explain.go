package env

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/problem"
)

// FirstSentence returns the text before the first full stop of either language.
func FirstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	for _, stop := range []string{". ", "。"} {
		if head, _, found := strings.Cut(text, stop); found {
			text = head
		}
	}
	return strings.TrimSuffix(text, ".")
}

// Explain returns the explanation of a code, ours or one of the config file.
func Explain(code string) (explanation, bool) {
	if e, ok := explanations[code]; ok {
		return e, true
	}
	en, zh, ok := problem.Explain(code)
	return explanation{en, zh}, ok
}

// Codes returns all codes that the program can print.
func Codes() []string {
	list := append(problem.Codes(), SortedKeys(explanations)...)
	slices.Sort(list)
	return list
}
