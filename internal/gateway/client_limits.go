package gateway

import (
	"fmt"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
)

// A clientLimit is what a known client can take.
type clientLimit struct {
	match string // in the name that the client gives, lower case
	title string
	tools int // at once; 0 for any number
	about string
	name  int    // characters of a tool's name; 0 for any length
	fit   string // what it takes of a tool
}

// clientLimits is what the makers of clients say, or what their clients were
// seen to do.
var clientLimits = []clientLimit{
	{"cursor", "Cursor", 40, "40 tools (80 in newer versions)", 60, "cursor"},
	{"visual studio code", "VS Code", 128, "128 tools", 64, "vscode"},
	{"vscode", "VS Code", 128, "128 tools", 64, "vscode"},
	{"windsurf", "Windsurf", 100, "100 tools", 64, "windsurf"},
	{"claude", "Claude", 0, "", 64, "claude"},
	{"gemini", "Gemini", 0, "", 63, "gemini"},
	{"codex", "OpenAI", 128, "128 tools", 64, "openai"},
	{"openai", "OpenAI", 128, "128 tools", 64, "openai"},
}

// limitsOf finds the limits of a client by its name; nil when it is not known.
func limitsOf(client string) *clientLimit {
	client = strings.ToLower(client)
	for i := range clientLimits {
		if strings.Contains(client, clientLimits[i].match) {
			return &clientLimits[i]
		}
	}
	return nil
}

// exceeded says what of the tools that are shown a client cannot take. What
// the view fits already is not said.
func (l *clientLimit) exceeded(shown *catalog.Catalog, eyes catalog.View) []string {
	var warnings []string
	list, tools := shown.List(catalog.Tools, eyes), shown.Count(catalog.Tools, eyes)
	if l.tools > 0 && tools > l.tools {
		warnings = append(warnings, fmt.Sprintf("%s takes %s and is shown %d; use mode compact, or switch tools off", l.title, l.about, tools))
	}
	long, example := 0, ""
	for tool := range jsonrpc.Elements(orEmptyArray(jsonrpc.Get(list, "tools"))) {
		if name, _ := jsonrpc.GetString(tool, "name"); l.name > 0 && len(name) > l.name {
			long, example = long+1, name
		}
	}
	if long > 0 {
		warnings = append(warnings, fmt.Sprintf("%s takes names of %d characters; %d are longer, such as %s; set fit, rename them, or shorten the server's name", l.title, l.name, long, example))
	}
	fit := catalog.FitOf(l.fit)
	if eyes.Fit == fit {
		return warnings
	}
	if count, example, keyword := shown.Unfit(fit, eyes.Visible); count > 0 {
		warnings = append(warnings, fmt.Sprintf("the models of %s refuse parts of %d schemas, such as %s in %s; set fit", l.title, count, keyword, example))
	}
	return warnings
}

// limitWarnings says, for every known client, what of a view it could not
// take.
func limitWarnings(v *view, eyes catalog.View) []string {
	warnings := []string{}
	seen := map[string]bool{}
	for i := range clientLimits {
		if l := &clientLimits[i]; !seen[l.title] {
			seen[l.title] = true
			warnings = append(warnings, l.exceeded(v.shown, eyes)...)
		}
	}
	return warnings
}
