package catalog

import (
	"strings"

	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/i18n"
)

// fitNames holds the shortened names of one dialect, in both directions, and
// the schema keywords that the dialect refuses.
type fitNames struct {
	to      map[*entry]string
	from    map[string]*entry
	refused map[*entry]i18n.Text
}

// fitted returns the tool names that the dialect shortens. Shortened names are
// unique and differ from all listed names.
func (c *Catalog) fitted(f *fit.Dialect) *fitNames {
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
		if !f.Shortens(e.listed) {
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

// Unfit counts the tools whose schemas a dialect does not accept unchanged. It
// returns one example and the refused keyword.
func (c *Catalog) Unfit(f *fit.Dialect, may Visible) (count int, example string, keyword i18n.Text) {
	refused := c.fitted(f).refused
	for _, e := range c.tools().order {
		if !refused[e].Empty() && c.sees(e, may) {
			count, example, keyword = count+1, e.listed, refused[e]
		}
	}
	return count, example, keyword
}

// ToolFitting is ToolFor for a client that sees tools adapted to a dialect; f
// may be nil.
func (c *Catalog) ToolFitting(f *fit.Dialect, name string, may Visible) (Ref, *Miss) {
	if f != nil && strings.Contains(name, "_") {
		if e := c.fitted(f).from[name]; c.sees(e, may) {
			return c.ref(e), nil
		}
	}
	return c.ToolFor(name, may)
}
