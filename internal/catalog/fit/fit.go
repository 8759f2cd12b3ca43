// Package fit adapts tool definitions to the limits of a kind of client.
package fit

import (
	"slices"

	"mcp-all-in-one/internal/i18n"
)

// A Dialect describes which tool definitions a kind of client, or the model
// behind it, accepts. Tools are listed adapted to it. Calls are still validated
// against the full schema, and a shortened name is mapped back to its tool.
type Dialect struct {
	Name string
	// Length is the maximum length of a tool name, without the prefix that the
	// client adds; 0 for no limit.
	Length int
	// Flat reports that the top level of a schema must not be a choice, a
	// combination or an enum; the properties of the alternatives are merged.
	Flat bool
	// Items reports that an array must declare its items.
	Items bool
	// Keywords lists the keywords that a schema may have; nil for all. If set,
	// references are expanded, and other keywords are rewritten where possible.
	Keywords []string
	// Formats lists the accepted values of format; nil for all.
	Formats []string
}

// ourName is the name of this gateway in a client's configuration file, as
// written by connect. Clients put it before the names of tools and count it.
const ourName = "mcp-all-in-one"

// Dialects lists the known dialects. The source and date of each number are in
// docs/compact.md under "What clients take".
var Dialects = []Dialect{
	// Claude Code writes mcp__ENTRY__ before a name; a deferred tool's name may
	// have 64 characters including that prefix. Claude Desktop accepts 64
	// without it.
	{Name: "claude", Length: 64 - len("mcp__"+ourName+"__"), Flat: true},
	// Cursor omits a tool if its name and its server's name have 60 characters.
	{Name: "cursor", Length: 59 - len(ourName), Flat: true, Items: true},
	// Gemini CLI writes mcp_ENTRY_ before a name and truncates the result to
	// 63.
	{Name: "gemini", Length: 63 - len("mcp_"+ourName+"_"), Flat: true, Items: true,
		Keywords: []string{"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties",
			"required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf", "items", "minimum", "maximum", "default"},
		Formats: []string{"enum", "date-time", "float", "double", "int32", "int64"}},
	// The OpenAI API; Codex shortens names itself.
	{Name: "openai", Length: 64, Flat: true, Items: true},
	// VS Code writes at most 18 characters before a name and truncates the
	// result to 64.
	{Name: "vscode", Length: 64 - 18, Flat: true, Items: true},
	// Windsurf shows the errors of OpenAI's API; it documents no limit for
	// names.
	{Name: "windsurf", Flat: true, Items: true},
}

// Of returns the dialect with the given name; nil if there is none.
func Of(name string) *Dialect {
	if i := slices.IndexFunc(Dialects, func(f Dialect) bool { return f.Name == name }); i >= 0 {
		return &Dialects[i]
	}
	return nil
}

// Shortens reports whether a name is too long for the dialect.
func (f *Dialect) Shortens(name string) bool { return f != nil && f.Length > 0 && len(name) > f.Length }

// Takes reports whether a schema may have a keyword.
func (f *Dialect) Takes(keyword string) bool {
	return f.Keywords == nil || slices.Contains(f.Keywords, keyword)
}

// Refuses returns the first keyword of a tool's schema that has to be
// rewritten; empty if there is none.
func (f *Dialect) Refuses(schema []byte) i18n.Text {
	if len(schema) > maxFitBytes {
		return i18n.Text{}
	}
	w := fitter{fit: f, root: schema}
	w.schema(schema, true)
	return w.first
}

// Schema returns a schema adapted to the dialect. It returns the same slice if
// nothing has to change or the schema is too large to be examined.
func (f *Dialect) Schema(schema []byte) []byte {
	if len(schema) > maxFitBytes {
		return schema
	}
	w := fitter{fit: f, root: schema}
	out := w.schema(schema, true)
	if w.first.Empty() {
		return schema
	}
	return out
}
