package receipt

import (
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// A Limit says how many tools, and in which form, a known client accepts.
type Limit struct {
	match string // in the name that the client gives, lower case
	title string
	Tools int    // at once; 0 for any number
	Fit   string // the form of tools that it accepts, as in fit of a schema
}

// clientLimits are the limits that the makers of clients publish. The source and
// the date of each figure are in docs/compact.md under "What clients take".
var clientLimits = []Limit{
	{"cursor", "Cursor", 0, "cursor"}, // 40 until 2.4 of January 2026, which loads tools when they are needed
	{"visual studio code", "VS Code", 128, "vscode"},
	{"vscode", "VS Code", 128, "vscode"},
	{"windsurf", "Windsurf", 100, "windsurf"},
	{"claude", "Claude", 0, "claude"},
	{"gemini", "Gemini", 128, "gemini"},
	{"codex", "Codex", 0, "openai"}, // it looks tools up when there are more than 100
	{"openai", "OpenAI", 128, "openai"},
}

// LimitOf finds the limits of a client by its name; nil when it is not known.
func LimitOf(client string) *Limit {
	client = strings.ToLower(client)
	for i := range clientLimits {
		if strings.Contains(client, clientLimits[i].match) {
			return &clientLimits[i]
		}
	}
	return nil
}

// Exceeded says what of the tools that are shown a client cannot take. What
// the view fits already is not said.
func (l *Limit) Exceeded(shown *catalog.Catalog, eyes catalog.View) []i18n.Text {
	var warnings []i18n.Text
	list, tools := shown.List(catalog.Tools, eyes), shown.Count(catalog.Tools, eyes)
	if l.Tools > 0 && tools > l.Tools {
		warnings = append(warnings, i18n.New("%s takes %d tools and is shown %d; use mode compact, or switch tools off",
			"%s 接受 %d 个工具，实际展示了 %d 个；请使用 compact 模式，或停用部分工具", l.title, l.Tools, tools))
	}
	fit := fit.Of(l.Fit)
	if long, example := longer(list, fit.Length); long > 0 {
		warnings = append(warnings, i18n.New("%s has room for names of %d characters; longer ones: %d, such as %s; set \"fit\": \"%s\", rename them, or shorten the server's name",
			"%s 只能容纳 %d 个字符的名称；有 %d 个更长，例如 %s；请设置 \"fit\": \"%s\"、重命名，或缩短服务器名", l.title, fit.Length, long, example, l.Fit))
	}
	if eyes.Fit == fit {
		return warnings
	}
	if count, example, keyword := shown.Unfit(fit, eyes.Visible); count > 0 {
		warnings = append(warnings, i18n.New("schemas that the models of %s refuse in part: %d, such as %v in %s; set \"fit\": \"%s\"",
			"%s 的模型会拒绝 %d 个 schema 的部分内容，例如 %[4]s 中的 %[3]v；请设置 \"fit\": \"%[5]s\"", l.title, count, keyword, example, l.Fit))
	}
	return warnings
}

// longer counts the tools of a list with names of more characters than the
// limit, with an example; 0 is no limit.
func longer(list []byte, limit int) (count int, example string) {
	for tool := range jsonrpc.Elements(jsonrpc.AsArray(jsonrpc.Get(list, "tools"))) {
		if name, _ := jsonrpc.GetString(tool, "name"); limit > 0 && len(name) > limit {
			count, example = count+1, name
		}
	}
	return count, example
}

// Warnings says, for every known client, what of the tools that are shown it
// could not take.
func Warnings(shown *catalog.Catalog, eyes catalog.View) []i18n.Text {
	var warnings []i18n.Text
	seen := map[string]bool{}
	for i := range clientLimits {
		if l := &clientLimits[i]; !seen[l.title] {
			seen[l.title] = true
			warnings = append(warnings, l.Exceeded(shown, eyes)...)
		}
	}
	return warnings
}

// A Fit is how a list of tools suits a client that has limits.
type Fit struct {
	Client string `json:"client"`
	// Tools is how many it is shown, MaxTools how many it takes at once; 0 for
	// any number.
	Tools    int `json:"tools"`
	MaxTools int `json:"maxTools,omitempty"`
	// MaxName is how long names may be, LongNames how many are longer.
	MaxName   int `json:"maxName,omitempty"`
	LongNames int `json:"longNames,omitempty"`
}

// Fits says how the tools that are shown suit the clients that are known.
func Fits(shown *catalog.Catalog) []Fit {
	fits := []Fit{}
	seen := make(map[string]bool)
	for i := range clientLimits {
		l := &clientLimits[i]
		if seen[l.title] {
			continue
		}
		seen[l.title] = true
		most := fit.Of(l.Fit).Length
		long, _ := longer(shown.List(catalog.Tools, catalog.View{}), most)
		fits = append(fits, Fit{Client: l.title, Tools: shown.Count(catalog.Tools, catalog.View{}), MaxTools: l.Tools, MaxName: most, LongNames: long})
	}
	return fits
}
