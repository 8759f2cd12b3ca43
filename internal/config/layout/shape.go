// Package layout finds the servers in a file. It knows the shapes that a file
// may have, the key names of other programs, and the text of an entry that a
// person approves. It does not interpret values.
package layout

import (
	"slices"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// A Shape is one of the layouts a file may have, recognised by its keys.
type Shape string

// The shapes.
const (
	ShapeServers Shape = "mcpServers"         // {"mcpServers": {name: entry}}
	ShapeVSCode  Shape = "servers"            // {"servers": {name: entry}}
	ShapeMCPX    Shape = "mcp_servers"        // {"mcp_servers": [entry]}
	ShapeSchemas Shape = "schemas"            // {"schemas": {name: {"mcpServers": {}}}}
	ShapeTester  Shape = "mcp-tester.servers" // {"mcp-tester.servers": [entry]}
	ShapeBare    Shape = "bare"               // {name: entry}
)

// DefaultSchema is the schema of the servers in shapes without schemas.
const DefaultSchema = "default"

// Entry is one server and its position in the file.
type Entry struct {
	Schema string
	Name   string
	At     problem.Pos
	Path   []document.Step
	Value  *document.Node
}

// Schema is one schema and its position in the file. Value is nil in shapes
// without schemas.
type Schema struct {
	Name  string
	At    problem.Pos
	Path  []document.Step
	Value *document.Node
}

// Layout is a file divided into its parts.
type Layout struct {
	Shape   Shape
	Holder  []document.Step // path of the servers; in ShapeSchemas, path of the schemas
	beside  []document.Step // path of mcpServers beside schemas, which is the schema default; nil if absent
	Schemas []Schema
	Entries []Entry
	Top     *document.Node // the other keys, under our names
	Tester  *document.Node // "mcp-tester.timeout"
	Denied  *document.Node // MCPX's disabled_tools
}

// Sections are our top-level keys that hold no servers.
var Sections = []string{
	"server", "cli", "logging", "roots", "sampling", "inbox", "answers", "access", "limits", "startWait", "compat", "mode", "naming", "fit", "compact", "code", "scripts", "results", "tokens", "audit", "metrics", "usage", "registries", "locked", "cluster", "tracing",
}

// holders are the paths of the servers in each shape.
var holders = []struct {
	shape Shape
	path  []document.Step
}{
	{ShapeSchemas, []document.Step{document.KeyStep("schemas")}},
	{ShapeServers, []document.Step{document.KeyStep("mcpServers")}},
	{ShapeVSCode, []document.Step{document.KeyStep("servers")}},
	{ShapeMCPX, []document.Step{document.KeyStep("mcp_servers")}},
	{ShapeTester, []document.Step{document.KeyStep("mcp-tester.servers")}},
	{ShapeTester, []document.Step{document.KeyStep("mcp-tester"), document.KeyStep("servers")}},
	{ShapeVSCode, []document.Step{document.KeyStep("mcp"), document.KeyStep("servers")}},
}

// HolderKeys returns the top-level keys that hold servers. They are never
// unknown, and are suggested for misspelled keys.
func HolderKeys() []string {
	var keys []string
	for _, h := range holders {
		if !slices.Contains(keys, h.path[0].Key) {
			keys = append(keys, h.path[0].Key)
		}
	}
	return append(keys, "disabled_tools")
}

// Of recognises the shape of a file. It returns nil if it has reported that
// there is none.
func Of(root *document.Node, c *problem.List) *Layout {
	if root.Kind != document.KindObject {
		c.Add(problem.SeverityError, root.Pos, "", problem.WrongType, document.KindObject, root.Kind)
		return nil
	}
	l := findHolder(root, c)
	if l == nil {
		return nil
	}
	if l.Shape == ShapeSchemas {
		l.takeSchemas(root.At(l.Holder), c)
		l.takeBeside(root, c)
	} else {
		l.Schemas = []Schema{{Name: DefaultSchema}}
		l.takeServers(root.At(l.Holder), DefaultSchema, l.Holder, c)
	}
	l.takeTop(root, c)
	return l
}

func findHolder(root *document.Node, c *problem.List) *Layout {
	var found *Layout
	for _, h := range holders {
		n := root.At(h.path)
		if n == nil {
			continue
		}
		if n.Kind != document.KindObject && n.Kind != document.KindArray {
			c.Add(problem.SeverityError, n.Pos, document.PathText(h.path), problem.WrongType, document.KindObject, n.Kind)
			return nil
		}
		if found == nil {
			found = &Layout{Shape: h.shape, Holder: h.path}
			continue
		}
		first := root.At(found.Holder)
		switch {
		case len(n.Members)+len(n.Items) == 0:
		case found.Shape == ShapeSchemas && h.shape == ShapeServers && len(first.Members) > 0 && found.beside == nil:
			found.beside = h.path
		case len(first.Members)+len(first.Items) == 0:
			found = &Layout{Shape: h.shape, Holder: h.path}
		default:
			c.Add(problem.SeverityError, n.Pos, document.PathText(h.path), problem.TwoShapes,
				document.PathText(h.path), document.PathText(found.Holder), first.Line, first.Col)
			return nil
		}
	}
	if found == nil && isBare(root) {
		return &Layout{Shape: ShapeBare}
	}
	if found == nil {
		reportNone(root, c)
	}
	return found
}

// reportNone reports that no key holds servers, at a key that is probably a
// misspelt one.
func reportNone(root *document.Node, c *problem.List) {
	for _, m := range root.Members {
		if near := spelling.Nearest(m.Key, HolderKeys()); near != "" && near != m.Key && !slices.Contains(Sections, m.Key) {
			c.Add(problem.SeverityError, m.Pos, m.Key, problem.NoServers).Meant(near)
			return
		}
	}
	c.Add(problem.SeverityError, root.Pos, "", problem.NoServers)
}

// isBare reports whether root is a map of servers: it has none of our keys, and
// at least one value has a command or a URL.
func isBare(root *document.Node) bool {
	bare := false
	for _, m := range root.Members {
		if slices.Contains(Sections, m.Key) {
			return false
		}
		for _, key := range []string{"command", "url", "serverUrl", "httpUrl"} {
			bare = bare || m.Value.Kind == document.KindObject && m.Value.Has(key)
		}
	}
	return bare
}

func (l *Layout) takeSchemas(n *document.Node, c *problem.List) {
	if n.Kind != document.KindObject {
		c.Add(problem.SeverityError, n.Pos, "schemas", problem.WrongType, document.KindObject, n.Kind)
		return
	}
	for _, m := range n.Members {
		path := append(slices.Clone(l.Holder), document.KeyStep(m.Key))
		if m.Value.Kind != document.KindObject {
			c.Add(problem.SeverityError, m.Value.Pos, document.PathText(path), problem.WrongType, document.KindObject, m.Value.Kind)
			continue
		}
		l.Schemas = append(l.Schemas, Schema{m.Key, m.Pos, path, m.Value})
		for _, key := range []string{"mcpServers", "servers", "mcp_servers"} {
			if v := m.Value.Get(key); v != nil {
				l.takeServers(v, m.Key, append(slices.Clone(path), document.KeyStep(key)), c)
			}
		}
	}
}

// takeBeside takes mcpServers beside schemas: most files begin with mcpServers
// and get schemas later.
func (l *Layout) takeBeside(root *document.Node, c *problem.List) {
	if l.beside == nil {
		return
	}
	n := root.At(l.beside)
	if i := slices.IndexFunc(l.Schemas, func(s Schema) bool { return s.Name == DefaultSchema }); i >= 0 {
		at := l.Schemas[i].At
		p := c.Add(problem.SeverityError, n.Pos, document.PathText(l.beside), problem.TwoShapes, document.PathText(l.beside), document.PathText(l.Schemas[i].Path), at.Line, at.Col)
		p.Hint, p.HintZH = "both are the schema default: move the servers into schemas.default.mcpServers", "两者都是 schema default：请把服务器移到 schemas.default.mcpServers"
		return
	}
	l.Schemas = slices.Insert(l.Schemas, 0, Schema{Name: DefaultSchema})
	l.takeServers(n, DefaultSchema, l.beside, c)
}

// takeServers takes the servers from an object by name, or from a list of
// objects with a name.
func (l *Layout) takeServers(n *document.Node, schema string, path []document.Step, c *problem.List) {
	add := func(name string, at problem.Pos, s document.Step, value *document.Node) {
		p := append(slices.Clone(path), s)
		if value.Kind != document.KindObject {
			c.Add(problem.SeverityError, value.Pos, document.PathText(p), problem.WrongType, document.KindObject, value.Kind)
			return
		}
		l.Entries = append(l.Entries, Entry{schema, name, at, p, value})
	}
	switch n.Kind {
	case document.KindNull:
	case document.KindObject:
		for _, m := range n.Members {
			if l.Shape == ShapeBare && m.Key == "$schema" {
				continue
			}
			add(m.Key, m.Pos, document.KeyStep(m.Key), m.Value)
		}
	case document.KindArray:
		for i, item := range n.Items {
			name := item.Get("name")
			if item.Kind == document.KindObject && (name == nil || name.Kind != document.KindString) {
				c.Add(problem.SeverityError, item.Pos, document.PathText(append(slices.Clone(path), document.IndexStep(i))), problem.ServerName, "", i18n.New("is missing", "缺少名称"))
				continue
			}
			at, text := item.Pos, ""
			if name != nil {
				at, text = name.Pos, name.Text
			}
			add(text, at, document.IndexStep(i), item)
		}
	default:
		c.Add(problem.SeverityError, n.Pos, document.PathText(path), problem.WrongType, document.KindObject, n.Kind)
	}
}
