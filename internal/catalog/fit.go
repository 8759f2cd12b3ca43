package catalog

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// A Fit is what a kind of client, or the model behind it, takes of the
// definition of a tool. Tools are shown cut to it; calls are held against the
// whole schema all the same, and a shortened name leads back to its tool.
type Fit struct {
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

// Fits are the kinds that are known. Where each figure comes from, and of when
// it is, is in docs/compact.md under "What clients take".
var Fits = []Fit{
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

// FitOf returns the fit of that name; nil when there is none.
func FitOf(name string) *Fit {
	if i := slices.IndexFunc(Fits, func(f Fit) bool { return f.Name == name }); i >= 0 {
		return &Fits[i]
	}
	return nil
}

// shortens says whether a name is longer than the fit takes.
func (f *Fit) shortens(name string) bool { return f != nil && f.Length > 0 && len(name) > f.Length }

// Takes says whether a schema may have a keyword.
func (f *Fit) Takes(keyword string) bool {
	return f.Keywords == nil || slices.Contains(f.Keywords, keyword)
}

// Refuses says what of a tool's schema is not taken: the first keyword that
// has to be rewritten; empty when nothing has to be.
func (f *Fit) Refuses(schema []byte) i18n.Text {
	if len(schema) > maxFitBytes {
		return i18n.Text{}
	}
	w := fitter{fit: f, root: schema}
	w.schema(schema, true)
	return w.first
}

// Schema is a schema as the fit takes it. The same slice comes back when
// nothing has to change, and for one that is too large to be looked at.
func (f *Fit) Schema(schema []byte) []byte {
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

// fitNames are the shortened names of one fit, and back, and what it refuses
// of the schemas.
type fitNames struct {
	to      map[*entry]string
	from    map[string]*entry
	refused map[*entry]i18n.Text
}

// fitted returns the tools whose names the fit shortens. No two get the same
// name, and none gets one that is listed already.
func (c *Catalog) fitted(f *Fit) *fitNames {
	c.fits.mu.Lock()
	defer c.fits.mu.Unlock()
	if n := c.fits.by[f.Name]; n != nil {
		return n
	}
	n := &fitNames{to: make(map[*entry]string), from: make(map[string]*entry), refused: make(map[*entry]i18n.Text)}
	for _, e := range c.tools().order {
		if keyword := f.Refuses(e.item.InputSchema); !keyword.Empty() {
			n.refused[e] = keyword
		}
		if !f.shortens(e.listed) {
			continue
		}
		mark := c.mark(8, e)
		short := cutTo(f.Length, e.listed, mark)
		for c.tools().listed[short] != nil || n.from[short] != nil {
			mark = digest(8, mark)
			short = cutTo(f.Length, e.listed, mark)
		}
		n.to[e], n.from[short] = short, e
	}
	if c.fits.by == nil {
		c.fits.by = make(map[string]*fitNames)
	}
	c.fits.by[f.Name] = n
	return n
}

// Unfit counts the tools whose schemas a fit does not take as they are, with an
// example and why.
func (c *Catalog) Unfit(f *Fit, may Visible) (count int, example string, keyword i18n.Text) {
	refused := c.fitted(f).refused
	for _, e := range c.tools().order {
		if !refused[e].Empty() && c.sees(e, may) {
			count, example, keyword = count+1, e.listed, refused[e]
		}
	}
	return count, example, keyword
}

// ToolFitting is ToolFor for a client that is shown tools cut to a fit; f may
// be nil.
func (c *Catalog) ToolFitting(f *Fit, name string, may Visible) (Ref, *Miss) {
	if f != nil && strings.Contains(name, "_") {
		if e := c.fitted(f).from[name]; c.sees(e, may) {
			return c.ref(e), nil
		}
	}
	return c.ToolFor(name, may)
}
