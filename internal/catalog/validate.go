package catalog

import (
	"sync"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// MissingRequired finds the first required argument that args has not. Without
// arguments (nil, or null) and with something required, param is empty.
func (it *Item) MissingRequired(args []byte) (param string, missing bool) {
	if len(it.Required) == 0 {
		return "", false
	}
	if len(args) == 0 || args[0] == 'n' {
		return "", true
	}
	var small [4]uint64
	have := small[:]
	if n := len(it.Required)/64 + 1; n > len(small) {
		have = make([]uint64, n)
	}
	for name := range jsonrpc.Members(args) {
		for i, want := range it.Required {
			if name == want {
				have[i/64] |= 1 << (i % 64)
			}
		}
	}
	for i, want := range it.Required {
		if have[i/64]&(1<<(i%64)) == 0 {
			return want, true
		}
	}
	return "", false
}

// rules is a tool's input schema, compiled when it is first needed.
type rules struct {
	once sync.Once
	doc  *document
	err  error
}

func (it *Item) compiled() *rules {
	r := it.rules
	if r == nil {
		r = &rules{}
	}
	r.once.Do(func() {
		if r.err = withinBudget(it.InputSchema); r.err != nil {
			return
		}
		raw, err := decode(it.InputSchema)
		if err != nil {
			r.err = err
			return
		}
		r.doc, r.err = compileSchema(raw)
	})
	return r
}

// Unvalidated says why a tool's arguments cannot be held against its schema;
// nil when they can.
func (it *Item) Unvalidated() error { return it.compiled().err }

// Validate holds a call's arguments against the tool's input schema; nil
// arguments count as {}. A schema that cannot be used, or would take too long,
// refuses nothing.
func (it *Item) Validate(args []byte) []Violation {
	r := it.compiled()
	if r.err != nil {
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
