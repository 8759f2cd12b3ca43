package config

import (
	"fmt"
	"slices"
	"strings"
)

// serversOf is where the servers of a schema are.
func (d *Draft) serversOf(l *layout, schema string) ([]step, error) {
	isDefault := schema == DefaultSchema || schema == ""
	if l.shape != ShapeSchemas {
		if !isDefault {
			return nil, d.noSchema(l, schema)
		}
		return l.holder, nil
	}
	for _, s := range l.schemas {
		if s.value != nil && (s.name == schema || isDefault && s.name == DefaultSchema) {
			return append(slices.Clip(s.path), keyStep("mcpServers")), nil
		}
	}
	if isDefault && d.root.has("mcpServers") {
		return []step{keyStep("mcpServers")}, nil
	}
	return nil, d.noSchema(l, schema)
}

// AddSchema adds an empty schema; one that is there stays as it is.
func (d *Draft) AddSchema(name string) error {
	if d.root == nil {
		d.root = parse([]byte(`{"mcpServers": {}}`), FormatJSON, &collector{})
	}
	l := takeApart(d.root, &collector{})
	if l == nil || l.shape != ShapeSchemas && l.shape != ShapeServers {
		return &NameError{Name: name, File: d.path, Fixed: true}
	}
	if slices.ContainsFunc(l.schemas, func(s schemaEntry) bool { return s.name == name }) {
		return nil
	}
	empty := object("mcpServers", object())
	d.root = replaceAt(d.root, []step{keyStep("schemas"), keyStep(name)}, empty)
	return nil
}

// A NameError says that a file has no schema, or no server, of a name.
type NameError struct {
	Name   string
	Server bool   // it is the name of a server
	Schema string // where the server was looked for
	File   string
	Known  []string
	Fixed  bool // the file has a shape without schemas
}

func (e *NameError) Error() string {
	switch {
	case e.Fixed:
		return fmt.Sprintf("%s has a shape without schemas: move its servers under mcpServers first", e.File)
	case e.Server:
		return fmt.Sprintf("server %q not found in schema %q of %s", e.Name, e.Schema, e.File)
	}
	return fmt.Sprintf("schema %q not found in %s; there are: %s", e.Name, e.File, strings.Join(e.Known, ", "))
}

func (d *Draft) noSchema(l *layout, name string) error {
	e := &NameError{Name: name, File: d.path}
	for _, s := range l.schemas {
		e.Known = append(e.Known, s.name)
	}
	return e
}

func (d *Draft) noServer(schema, name string) error {
	return &NameError{Name: name, Server: true, Schema: schema, File: d.path}
}
