package edit

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// serversOf returns the path of the servers of a schema.
func (d *Draft) serversOf(l *layout.Layout, schema string) ([]document.Step, error) {
	isDefault := schema == layout.DefaultSchema || schema == ""
	if l.Shape != layout.ShapeSchemas {
		if !isDefault {
			return nil, d.noSchema(l, schema)
		}
		return l.Holder, nil
	}
	for _, s := range l.Schemas {
		if s.Value != nil && (s.Name == schema || isDefault && s.Name == layout.DefaultSchema) {
			return append(slices.Clip(s.Path), document.KeyStep("mcpServers")), nil
		}
	}
	if isDefault && d.root.Has("mcpServers") {
		return []document.Step{document.KeyStep("mcpServers")}, nil
	}
	return nil, d.noSchema(l, schema)
}

// AddSchema adds an empty schema. An existing schema is kept.
func (d *Draft) AddSchema(name string) error {
	if d.root == nil {
		d.root = document.Parse([]byte(`{"mcpServers": {}}`), document.FormatJSON, &problem.List{})
	}
	l := layout.Of(d.root, &problem.List{})
	if l == nil || l.Shape != layout.ShapeSchemas && l.Shape != layout.ShapeServers {
		return &NameError{Name: name, File: d.path, Fixed: true}
	}
	if slices.ContainsFunc(l.Schemas, func(s layout.Schema) bool { return s.Name == name }) {
		return nil
	}
	empty := document.Parse([]byte(`{"mcpServers": {}}`), document.FormatJSON, &problem.List{})
	d.root = replaceAt(d.root, []document.Step{document.KeyStep("schemas"), document.KeyStep(name)}, empty)
	return nil
}

// A NameError means that a file has no schema or no server with that name.
type NameError struct {
	Name   string
	Server bool   // Name is the name of a server
	Schema string // schema of the missing server
	File   string
	Known  []string
	Fixed  bool // the file has a shape without schemas
}

func (e *NameError) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *NameError) In(l i18n.Lang) string {
	switch {
	case e.Fixed:
		return i18n.New("%s has a shape without schemas: move its servers under mcpServers first", "%s 的结构没有 schema：请先把服务器移到 mcpServers 之下", e.File).In(l)
	case e.Server:
		return i18n.New("server %q not found in schema %q of %s", "%[3]s 的 schema %[2]q 中没有服务器 %[1]q", e.Name, e.Schema, e.File).In(l)
	}
	return i18n.New("schema %q not found in %s; there are: %s", "%[2]s 中没有 schema %[1]q；现有：%[3]s", e.Name, e.File, strings.Join(e.Known, ", ")).In(l)
}

func (d *Draft) noSchema(l *layout.Layout, name string) error {
	e := &NameError{Name: name, File: d.path}
	for _, s := range l.Schemas {
		e.Known = append(e.Known, s.Name)
	}
	return e
}

func (d *Draft) noServer(schema, name string) error {
	return &NameError{Name: name, Server: true, Schema: schema, File: d.path}
}
