// Package fit cuts the definitions of tools to what a kind of client takes.
package fit

import (
	"slices"

	"mcp-all-in-one/internal/i18n"
)

// A Dialect is what a kind of client, or the model behind it, takes of the
// definition of a tool. Tools are shown cut to it; calls are held against the
// whole schema all the same, and a shortened name leads back to its tool.
type Dialect struct {
	Name string
	// Length is the longest name of a tool that leaves room for what the client
	// writes before it; 0 for any.
	Length int
	// Flat says that a schema must not be a choice or a combination of others,
	// or a set of values, at its top: the properties of the others are joined.
	Flat bool
	// Items says that an array must say what is in it.
	Items bool
	// Keywords are all that a schema may have; nil for any. References are
	// then written out, and what can be said in another way is.
	Keywords []string
	// Formats are all that format may be; nil for any.
	Formats []string
}

// ourName is the name that connect gives this gateway in a client's file. Clients
// write it before the names of tools, and count it.
const ourName = "mcp-all-in-one"

// Dialects are the kinds that are known. Where each figure comes from, and of when
// it is, is in docs/compact.md under "What clients take".
var Dialects = []Dialect{
	// Claude Code writes mcp__ENTRY__ before a name; a name that it looks up
	// later may have 64 characters with that. Claude Desktop takes 64 without.
	{Name: "claude", Length: 64 - len("mcp__"+ourName+"__"), Flat: true},
	// Cursor leaves out a tool that has 60 characters with its server's name.
	{Name: "cursor", Length: 59 - len(ourName), Flat: true, Items: true},
	// Gemini CLI writes mcp_ENTRY_ before a name and cuts the whole to 63.
	{Name: "gemini", Length: 63 - len("mcp_"+ourName+"_"), Flat: true, Items: true,
		Keywords: []string{"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties",
			"required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf", "items", "minimum", "maximum", "default"},
		Formats: []string{"enum", "date-time", "float", "double", "int32", "int64"}},
	// The API; Codex shortens the names itself.
	{Name: "openai", Length: 64, Flat: true, Items: true},
	// VS Code writes at most 18 characters before a name and cuts the whole to 64.
	{Name: "vscode", Length: 64 - 18, Flat: true, Items: true},
	// Windsurf shows the refusals of OpenAI's API; it says nothing of names.
	{Name: "windsurf", Flat: true, Items: true},
}

// Of returns the fit of that name; nil when there is none.
func Of(name string) *Dialect {
	if i := slices.IndexFunc(Dialects, func(f Dialect) bool { return f.Name == name }); i >= 0 {
		return &Dialects[i]
	}
	return nil
}

// Shortens says whether a name is longer than the fit takes.
func (f *Dialect) Shortens(name string) bool { return f != nil && f.Length > 0 && len(name) > f.Length }

// Takes says whether a schema may have a keyword.
func (f *Dialect) Takes(keyword string) bool {
	return f.Keywords == nil || slices.Contains(f.Keywords, keyword)
}

// Refuses says what of a tool's schema is not taken: the first keyword that
// has to be rewritten; empty when nothing has to be.
func (f *Dialect) Refuses(schema []byte) i18n.Text {
	if len(schema) > maxFitBytes {
		return i18n.Text{}
	}
	w := fitter{fit: f, root: schema}
	w.schema(schema, true)
	return w.first
}

// Schema is a schema as the fit takes it. The same slice comes back when
// nothing has to change, and for one that is too large to be looked at.
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
