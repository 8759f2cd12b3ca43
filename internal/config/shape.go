package config

import (
	"reflect"
	"slices"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// entry is one server where the file has it.
type entry struct {
	schema string
	name   string
	at     problem.Pos
	path   []document.Step
	value  *document.Node
}

// schemaEntry is one schema where the file has it; value is nil for the
// shapes that have none.
type schemaEntry struct {
	name  string
	at    problem.Pos
	path  []document.Step
	value *document.Node
}

// layout is a file taken apart by its shape.
type layout struct {
	shape   Shape
	holder  []document.Step // where the servers are; of ShapeSchemas: the schemas
	beside  []document.Step // mcpServers beside schemas: the schema default; nil when there is none
	schemas []schemaEntry
	entries []entry
	top     *document.Node // the other keys, named as ours
	tester  *document.Node // "mcp-tester.timeout"
	denied  *document.Node // MCPX's disabled_tools
}

// holders are the places where a shape keeps its servers.
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

// takeApart recognises the shape of a file; nil after it has reported why
// there is none.
func takeApart(root *document.Node, c *problem.List) *layout {
	if root.Kind != document.KindObject {
		c.Add(problem.SeverityError, root.Pos, "", problem.WrongType, document.KindObject, root.Kind)
		return nil
	}
	l := findHolder(root, c)
	if l == nil {
		return nil
	}
	if l.shape == ShapeSchemas {
		l.takeSchemas(root.At(l.holder), c)
		l.takeBeside(root, c)
	} else {
		l.schemas = []schemaEntry{{name: DefaultSchema}}
		l.takeServers(root.At(l.holder), DefaultSchema, l.holder, c)
	}
	l.takeTop(root, c)
	return l
}

func findHolder(root *document.Node, c *problem.List) *layout {
	var found *layout
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
			found = &layout{shape: h.shape, holder: h.path}
			continue
		}
		first := root.At(found.holder)
		switch {
		case len(n.Members)+len(n.Items) == 0:
		case found.shape == ShapeSchemas && h.shape == ShapeServers && len(first.Members) > 0 && found.beside == nil:
			found.beside = h.path
		case len(first.Members)+len(first.Items) == 0:
			found = &layout{shape: h.shape, holder: h.path}
		default:
			c.Add(problem.SeverityError, n.Pos, document.PathText(h.path), problem.TwoShapes,
				document.PathText(h.path), document.PathText(found.holder), first.Line, first.Col)
			return nil
		}
	}
	if found == nil && isBare(root) {
		return &layout{shape: ShapeBare}
	}
	if found == nil {
		c.Add(problem.SeverityError, root.Pos, "", problem.NoServers)
	}
	return found
}

// isBare reports whether root is a map of servers: no key of ours, and at
// least one value that names a target.
func isBare(root *document.Node) bool {
	bare := false
	for _, m := range root.Members {
		if slices.Contains(topKeys(), m.Key) && m.Key != "$schema" {
			return false
		}
		for _, key := range []string{"command", "url", "serverUrl", "httpUrl"} {
			bare = bare || m.Value.Kind == document.KindObject && m.Value.Has(key)
		}
	}
	return bare
}

// topKeys are the keys of ours at the top of a file.
func topKeys() []string {
	keys := []string{"$schema"}
	for _, f := range fieldsOf(reflect.TypeFor[Config]()) {
		keys = append(keys, f.name)
	}
	return keys
}

func (l *layout) takeSchemas(n *document.Node, c *problem.List) {
	if n.Kind != document.KindObject {
		c.Add(problem.SeverityError, n.Pos, "schemas", problem.WrongType, document.KindObject, n.Kind)
		return
	}
	for _, m := range n.Members {
		path := append(slices.Clone(l.holder), document.KeyStep(m.Key))
		if m.Value.Kind != document.KindObject {
			c.Add(problem.SeverityError, m.Value.Pos, document.PathText(path), problem.WrongType, document.KindObject, m.Value.Kind)
			continue
		}
		l.schemas = append(l.schemas, schemaEntry{m.Key, m.Pos, path, m.Value})
		for _, key := range []string{"mcpServers", "servers", "mcp_servers"} {
			if v := m.Value.Get(key); v != nil {
				l.takeServers(v, m.Key, append(slices.Clone(path), document.KeyStep(key)), c)
			}
		}
	}
}

// takeBeside takes mcpServers beside schemas: most files begin with the one,
// and groups come later.
func (l *layout) takeBeside(root *document.Node, c *problem.List) {
	if l.beside == nil {
		return
	}
	n := root.At(l.beside)
	if i := slices.IndexFunc(l.schemas, func(s schemaEntry) bool { return s.name == DefaultSchema }); i >= 0 {
		at := l.schemas[i].at
		p := c.Add(problem.SeverityError, n.Pos, document.PathText(l.beside), problem.TwoShapes, document.PathText(l.beside), document.PathText(l.schemas[i].path), at.Line, at.Col)
		p.Hint, p.HintZH = "both are the schema default: move the servers into schemas.default.mcpServers", "两者都是 schema default：请把服务移到 schemas.default.mcpServers"
		return
	}
	l.schemas = slices.Insert(l.schemas, 0, schemaEntry{name: DefaultSchema})
	l.takeServers(n, DefaultSchema, l.beside, c)
}

// takeServers takes the servers out of an object by name, or of a list of
// objects that say their name.
func (l *layout) takeServers(n *document.Node, schema string, path []document.Step, c *problem.List) {
	add := func(name string, at problem.Pos, s document.Step, value *document.Node) {
		p := append(slices.Clone(path), s)
		if value.Kind != document.KindObject {
			c.Add(problem.SeverityError, value.Pos, document.PathText(p), problem.WrongType, document.KindObject, value.Kind)
			return
		}
		l.entries = append(l.entries, entry{schema, name, at, p, value})
	}
	switch n.Kind {
	case document.KindNull:
	case document.KindObject:
		for _, m := range n.Members {
			if l.shape == ShapeBare && m.Key == "$schema" {
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
