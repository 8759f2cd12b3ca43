package catalog

import (
	"cmp"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// ServerInfo describes one server of the catalogue.
type ServerInfo struct {
	Name, State, Instructions string
	// Up reports that the server has listed its features.
	Up    bool
	Tools int
}

// Servers lists the servers in the order of the configuration. It omits servers
// of which the caller may see nothing.
func (c *Catalog) Servers(v View) []ServerInfo {
	infos := make([]ServerInfo, len(c.sources))
	for i := range c.sources {
		src := &c.sources[i]
		infos[i] = ServerInfo{Name: src.Server, State: src.State, Up: src.Features != nil}
		if src.Features != nil {
			infos[i].Instructions = src.Features.Instructions
		}
	}
	for _, e := range c.tools().order {
		if c.sees(e, v.Visible) {
			infos[e.source].Tools++
		}
	}
	var seen []ServerInfo
	for _, info := range infos {
		if v.Visible == nil || info.Tools > 0 || v.Visible(info.Name, "") {
			seen = append(seen, info)
		}
	}
	return seen
}

// ToolsOf lists the tools of one server that the caller may see.
func (d *directory) ToolsOf(server string, v View) []Ref {
	i, ok := d.servers[server]
	if !ok {
		return nil
	}
	var refs []Ref
	for _, e := range d.tools().order {
		if e.source == i && d.sees(e, v.Visible) {
			refs = append(refs, d.ref(e))
		}
	}
	return refs
}

const (
	outlineInstructions = 100
	outlineDescription  = 80
)

// Outline lists the servers and tools for a model, in at most limit bytes (zero
// for no limit): with descriptions if they fit, else names, else numbers.
func (c *Catalog) Outline(v View, limit int) string {
	var outline string
	for detail := range 3 {
		if outline = c.outline(v, detail); limit <= 0 || len(outline) <= limit {
			return outline
		}
	}
	return cut(outline, limit)
}

// OutlineNames reports whether an outline of at most limit bytes still names
// every tool.
func (c *Catalog) OutlineNames(v View, limit int) bool {
	return limit <= 0 || len(c.outline(v, 1)) <= limit
}

func (c *Catalog) outline(v View, omit int) string {
	var b strings.Builder
	b.WriteString("Available tools:")
	for _, s := range c.Servers(v) {
		b.WriteString("\n  Server: " + i18n.Clean(s.Name))
		if about := oneLine(s.Instructions, outlineInstructions); about != "" {
			b.WriteString(" - " + about)
		}
		if !s.Up {
			fmt.Fprintf(&b, " (%s)", cmp.Or(s.State, "not connected"))
		}
		refs := c.ToolsOf(s.Name, v)
		switch {
		case len(refs) == 0:
		case omit == 0:
			for _, ref := range refs {
				b.WriteString("\n    - " + oneLine(ref.Beside, maxTemplate))
				if about := oneLine(c.About(ref), outlineDescription); about != "" {
					b.WriteString(": " + about)
				}
			}
		case omit == 1:
			names := make([]string, len(refs))
			for i, ref := range refs {
				names[i] = oneLine(ref.Beside, maxTemplate)
			}
			b.WriteString("\n    " + strings.Join(names, ", "))
		default:
			fmt.Fprintf(&b, "\n    %d tools", len(refs))
		}
	}
	return b.String()
}

// oneLine returns a text on one line of at most limit characters.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(i18n.Clean(s)), " ")
	if r := []rune(s); limit > 0 && len(r) > limit {
		return strings.TrimSpace(string(r[:limit-1])) + "…"
	}
	return s
}

// cut keeps at most limit bytes, whole characters only.
func cut(s string, limit int) string {
	if limit <= 0 || len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
