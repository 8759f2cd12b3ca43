package config

import (
	"reflect"
	"slices"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// entry is one server where the file has it.
type entry struct {
	schema string
	name   string
	at     problem.Pos
	path   []step
	value  *node
}

// schemaEntry is one schema where the file has it; value is nil for the
// shapes that have none.
type schemaEntry struct {
	name  string
	at    problem.Pos
	path  []step
	value *node
}

// layout is a file taken apart by its shape.
type layout struct {
	shape   Shape
	holder  []step // where the servers are; of ShapeSchemas: the schemas
	beside  []step // mcpServers beside schemas: the schema default; nil when there is none
	schemas []schemaEntry
	entries []entry
	top     *node // the other keys, named as ours
	tester  *node // "mcp-tester.timeout"
	denied  *node // MCPX's disabled_tools
}

// holders are the places where a shape keeps its servers.
var holders = []struct {
	shape Shape
	path  []step
}{
	{ShapeSchemas, []step{keyStep("schemas")}},
	{ShapeServers, []step{keyStep("mcpServers")}},
	{ShapeVSCode, []step{keyStep("servers")}},
	{ShapeMCPX, []step{keyStep("mcp_servers")}},
	{ShapeTester, []step{keyStep("mcp-tester.servers")}},
	{ShapeTester, []step{keyStep("mcp-tester"), keyStep("servers")}},
	{ShapeVSCode, []step{keyStep("mcp"), keyStep("servers")}},
}

// takeApart recognises the shape of a file; nil after it has reported why
// there is none.
func takeApart(root *node, c *problem.List) *layout {
	if root.kind != kindObject {
		c.Add(problem.SeverityError, root.Pos, "", problem.WrongType, kindObject, root.kind)
		return nil
	}
	l := findHolder(root, c)
	if l == nil {
		return nil
	}
	if l.shape == ShapeSchemas {
		l.takeSchemas(root.at(l.holder), c)
		l.takeBeside(root, c)
	} else {
		l.schemas = []schemaEntry{{name: DefaultSchema}}
		l.takeServers(root.at(l.holder), DefaultSchema, l.holder, c)
	}
	l.takeTop(root, c)
	return l
}

func findHolder(root *node, c *problem.List) *layout {
	var found *layout
	for _, h := range holders {
		n := root.at(h.path)
		if n == nil {
			continue
		}
		if n.kind != kindObject && n.kind != kindArray {
			c.Add(problem.SeverityError, n.Pos, pathText(h.path), problem.WrongType, kindObject, n.kind)
			return nil
		}
		if found == nil {
			found = &layout{shape: h.shape, holder: h.path}
			continue
		}
		first := root.at(found.holder)
		switch {
		case len(n.members)+len(n.items) == 0:
		case found.shape == ShapeSchemas && h.shape == ShapeServers && len(first.members) > 0 && found.beside == nil:
			found.beside = h.path
		case len(first.members)+len(first.items) == 0:
			found = &layout{shape: h.shape, holder: h.path}
		default:
			c.Add(problem.SeverityError, n.Pos, pathText(h.path), problem.TwoShapes,
				pathText(h.path), pathText(found.holder), first.Line, first.Col)
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
func isBare(root *node) bool {
	bare := false
	for _, m := range root.members {
		if slices.Contains(topKeys(), m.key) && m.key != "$schema" {
			return false
		}
		for _, key := range []string{"command", "url", "serverUrl", "httpUrl"} {
			bare = bare || m.value.kind == kindObject && m.value.has(key)
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

func (l *layout) takeSchemas(n *node, c *problem.List) {
	if n.kind != kindObject {
		c.Add(problem.SeverityError, n.Pos, "schemas", problem.WrongType, kindObject, n.kind)
		return
	}
	for _, m := range n.members {
		path := append(slices.Clone(l.holder), keyStep(m.key))
		if m.value.kind != kindObject {
			c.Add(problem.SeverityError, m.value.Pos, pathText(path), problem.WrongType, kindObject, m.value.kind)
			continue
		}
		l.schemas = append(l.schemas, schemaEntry{m.key, m.Pos, path, m.value})
		for _, key := range []string{"mcpServers", "servers", "mcp_servers"} {
			if v := m.value.get(key); v != nil {
				l.takeServers(v, m.key, append(slices.Clone(path), keyStep(key)), c)
			}
		}
	}
}

// takeBeside takes mcpServers beside schemas: most files begin with the one,
// and groups come later.
func (l *layout) takeBeside(root *node, c *problem.List) {
	if l.beside == nil {
		return
	}
	n := root.at(l.beside)
	if i := slices.IndexFunc(l.schemas, func(s schemaEntry) bool { return s.name == DefaultSchema }); i >= 0 {
		at := l.schemas[i].at
		p := c.Add(problem.SeverityError, n.Pos, pathText(l.beside), problem.TwoShapes, pathText(l.beside), pathText(l.schemas[i].path), at.Line, at.Col)
		p.Hint, p.HintZH = "both are the schema default: move the servers into schemas.default.mcpServers", "两者都是 schema default：请把服务移到 schemas.default.mcpServers"
		return
	}
	l.schemas = slices.Insert(l.schemas, 0, schemaEntry{name: DefaultSchema})
	l.takeServers(n, DefaultSchema, l.beside, c)
}

// takeServers takes the servers out of an object by name, or of a list of
// objects that say their name.
func (l *layout) takeServers(n *node, schema string, path []step, c *problem.List) {
	add := func(name string, at problem.Pos, s step, value *node) {
		p := append(slices.Clone(path), s)
		if value.kind != kindObject {
			c.Add(problem.SeverityError, value.Pos, pathText(p), problem.WrongType, kindObject, value.kind)
			return
		}
		l.entries = append(l.entries, entry{schema, name, at, p, value})
	}
	switch n.kind {
	case kindNull:
	case kindObject:
		for _, m := range n.members {
			if l.shape == ShapeBare && m.key == "$schema" {
				continue
			}
			add(m.key, m.Pos, keyStep(m.key), m.value)
		}
	case kindArray:
		for i, item := range n.items {
			name := item.get("name")
			if item.kind == kindObject && (name == nil || name.kind != kindString) {
				c.Add(problem.SeverityError, item.Pos, pathText(append(slices.Clone(path), indexStep(i))), problem.ServerName, "", i18n.New("is missing", "缺少名称"))
				continue
			}
			at, text := item.Pos, ""
			if name != nil {
				at, text = name.Pos, name.text
			}
			add(text, at, indexStep(i), item)
		}
	default:
		c.Add(problem.SeverityError, n.Pos, pathText(path), problem.WrongType, kindObject, n.kind)
	}
}
