// Package jsonschema validates JSON values against JSON Schemas of the drafts 7
// and 2020-12, with budgets against schemas and values that are made to be
// expensive. It fetches nothing.
package jsonschema

import (
	"sync"

	"mcp-all-in-one/internal/i18n"
)

// A Schema is a JSON Schema, compiled on first use.
type Schema struct {
	once sync.Once
	doc  *document
	err  error
}

func (r *Schema) compile(schema []byte) {
	r.once.Do(func() { r.doc, r.err = compile(schema, false) })
}

func compile(schema []byte, listing bool) (*document, error) {
	if err := withinBudget(schema); err != nil {
		return nil, err
	}
	raw, err := decode(schema)
	if err != nil {
		return nil, err
	}
	return compileWith(raw, metaschema, listing)
}

// Check returns why a schema that is listed cannot be used; nil if it can. It
// compiles no patterns and keeps nothing, as a server may list many schemas.
func Check(schema []byte) error {
	_, err := compile(schema, true)
	return err
}

// Err returns why the schema cannot be used; nil if it can.
func (r *Schema) Err(schema []byte) error {
	r.compile(schema)
	return r.err
}

// Validate validates arguments against the schema; nil counts as {}. A schema
// that cannot be used, or is too expensive, refuses nothing.
func (r *Schema) Validate(schema, args []byte) []Violation {
	if r.Err(schema) != nil {
		return nil
	}
	if len(args) == 0 || args[0] == 'n' {
		args = []byte("{}")
	}
	value, err := decode(args)
	if err != nil {
		return []Violation{{Want: i18n.Plain("JSON"), Message: i18n.New("Arguments: expected JSON", "参数：应为 JSON")}}
	}
	return r.doc.validate(value, workFor(len(args)))
}

func (d *document) validate(value any, work int) []Violation {
	e := &evaluation{doc: d, work: maxWork - work}
	if e.check(d.root, value, nil, nil, true) || e.spent {
		return nil
	}
	return sorted(e.found)
}
