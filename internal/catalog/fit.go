package catalog

import (
	"strings"

	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/i18n"
)

// fitNames are the shortened names of one fit, and back, and what it refuses
// of the schemas.
type fitNames struct {
	to      map[*entry]string
	from    map[string]*entry
	refused map[*entry]i18n.Text
}

// fitted returns the tools whose names the fit shortens. No two get the same
// name, and none gets one that is listed already.
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

// Unfit counts the tools whose schemas a fit does not take as they are, with an
// example and why.
func (c *Catalog) Unfit(f *fit.Dialect, may Visible) (count int, example string, keyword i18n.Text) {
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
func (c *Catalog) ToolFitting(f *fit.Dialect, name string, may Visible) (Ref, *Miss) {
	if f != nil && strings.Contains(name, "_") {
		if e := c.fitted(f).from[name]; c.sees(e, may) {
			return c.ref(e), nil
		}
	}
	return c.ToolFor(name, may)
}
