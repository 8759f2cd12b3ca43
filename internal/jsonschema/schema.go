package jsonschema

import (
	"encoding/json"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/pattern"
)

// document is one compiled JSON Schema, draft 4 to 2020-12. It fetches nothing:
// a reference to another document is an error unless that document is available
// locally.
type document struct {
	raw       any
	known     func(uri string) ([]byte, bool) // the documents that are available
	others    map[string]any                  // the available documents that were used
	draft7    bool                            // $ref excludes other keywords, $id may be an anchor
	tracks    bool                            // some part needs to know which members are unevaluated
	root      *part
	parts     map[string]*part     // by JSON pointer
	resources map[string]*resource // by absolute URI
	pending   []*part              // references to resolve
	listing   bool                 // patterns are not compiled
	patterns  int                  // size of the patterns so far
}

// resource is a schema with its own URI, and its anchors.
type resource struct {
	uri     string
	pointer string
	anchors map[string]*part
	dynamic map[string]*part
}

// part is one subschema.
type part struct {
	pointer  string
	resource *resource
	verdict  *bool // for the schemas true and false

	ref, dynamicRef   string
	target, bookend   *part  // targets of ref and dynamicRef
	dynamicName       string // the anchor that dynamicRef names
	types             []string
	enum              []any
	enumKeys          map[string]bool // canonical
	constant          any
	hasConstant       bool
	constantKey       map[string]bool // the key of constant
	limits            []limit
	sizes             []size
	pattern           *pattern.Pattern
	unique            bool
	required          []string
	names             *part
	properties        map[string]*part
	patternProperties []patternPart
	anyName           bool // one of patternProperties cannot be checked and may match any name
	additional        *part
	dependentRequired map[string][]string
	dependentSchemas  map[string]*part
	prefix            []*part
	items, contains   *part
	minContains       int
	maxContains       int // -1: no limit

	allOf, anyOf, oneOf          []*part
	not, condition, then, orElse *part
	unevaluatedProperties        *part
	unevaluatedItems             *part
}

type patternPart struct {
	pattern *pattern.Pattern
	part    *part
}

// limit is a limit for a number.
type limit struct {
	keyword string
	bound   decimal
	written string
}

// size is a limit for a length.
type size struct {
	keyword string
	bound   int
}

const documentURI = "mcp://schema/input"

var errNotFetched = i18n.Errorf("it is not in the schema and never fetched", "它不在 schema 中，也不会从网络获取")

// compileWith compiles a schema that may refer to the documents in known. If it
// is only listed, its patterns are left out.
func compileWith(raw any, known func(uri string) ([]byte, bool), listing bool) (*document, error) {
	d := &document{raw: raw, known: known, listing: listing, others: make(map[string]any), parts: make(map[string]*part), resources: make(map[string]*resource)}
	if obj, ok := raw.(map[string]any); ok {
		dialect, _ := obj["$schema"].(string)
		d.draft7 = strings.Contains(dialect, "json-schema.org/draft-0")
	}
	outer := &resource{uri: documentURI, anchors: map[string]*part{}, dynamic: map[string]*part{}}
	d.resources[documentURI] = outer
	d.root = d.part(raw, "", outer)
	for len(d.pending) > 0 {
		p := d.pending[0]
		d.pending = d.pending[1:]
		if err := d.link(p); err != nil {
			return nil, err
		}
	}
	if d.patterns > maxPatterns {
		return nil, i18n.Errorf("the patterns of the schema are too large", "schema 中的正则表达式总量过大")
	}
	return d, nil
}

// part compiles the subschema at a pointer, with all its contents.
func (d *document) part(raw any, pointer string, in *resource) *part {
	if p := d.parts[pointer]; p != nil {
		return p
	}
	p := &part{pointer: pointer, resource: in, maxContains: -1, minContains: 1}
	d.parts[pointer] = p
	switch raw := raw.(type) {
	case bool:
		p.verdict = &raw
	case map[string]any:
		d.identify(p, raw)
		if ref, ok := raw["$ref"].(string); ok && d.draft7 {
			p.ref = ref
			d.pending = append(d.pending, p)
			d.each(p, raw["definitions"], "definitions")
			return p
		}
		d.references(p, raw)
		d.assertions(p, raw)
		d.objects(p, raw)
		d.arrays(p, raw)
		d.compositions(p, raw)
	}
	return p
}

// identify creates a resource for a schema with a URI, and records its anchors.
func (d *document) identify(p *part, raw map[string]any) {
	id, _ := raw["$id"].(string)
	if _, alone := raw["$ref"]; alone && d.draft7 {
		id = ""
	}
	if anchor, ok := strings.CutPrefix(id, "#"); ok && d.draft7 {
		p.resource.anchors[anchor] = p
	} else if id != "" {
		uri, _ := split(resolveURI(p.resource.uri, id))
		p.resource = &resource{uri: uri, pointer: p.pointer, anchors: map[string]*part{}, dynamic: map[string]*part{}}
		d.resources[uri] = p.resource
	}
	if name, ok := raw["$anchor"].(string); ok && !d.draft7 {
		p.resource.anchors[name] = p
	}
	if name, ok := raw["$dynamicAnchor"].(string); ok && !d.draft7 {
		p.resource.anchors[name] = p
		p.resource.dynamic[name] = p
	}
}

func (d *document) references(p *part, raw map[string]any) {
	p.ref, _ = raw["$ref"].(string)
	p.dynamicRef, _ = raw["$dynamicRef"].(string)
	if ref, ok := raw["$recursiveRef"].(string); ok && p.ref == "" {
		p.ref = ref
	}
	if p.ref != "" || p.dynamicRef != "" {
		d.pending = append(d.pending, p)
	}
	d.each(p, raw["$defs"], "$defs")
	d.each(p, raw["definitions"], "definitions")
}

func (d *document) assertions(p *part, raw map[string]any) {
	switch t := raw["type"].(type) {
	case string:
		p.types = []string{t}
	case []any:
		p.types = texts(t)
	}
	if p.enum, _ = raw["enum"].([]any); p.enum != nil {
		p.enumKeys = make(map[string]bool, len(p.enum))
		for _, v := range p.enum {
			p.enumKeys[canonical(v)] = true
		}
	}
	if p.constant, p.hasConstant = raw["const"]; p.hasConstant {
		p.constantKey = map[string]bool{canonical(p.constant): true}
	}
	for _, keyword := range [...]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		written, ok := raw[keyword].(json.Number)
		if !ok {
			continue
		}
		bound := decimalOf(written)
		if keyword == "multipleOf" && bound.sign() <= 0 {
			continue
		}
		// In draft 4 a boolean beside a limit makes it exclusive.
		if exclusive := "exclusive" + strings.ToUpper(keyword[:1]) + keyword[1:]; raw[exclusive] == true {
			keyword = exclusive
		}
		p.limits = append(p.limits, limit{keyword, bound, clip(string(written))})
	}
	for _, keyword := range [...]string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} {
		if n, ok := count(raw[keyword]); ok {
			p.sizes = append(p.sizes, size{keyword, n})
		}
	}
	if s, ok := raw["pattern"].(string); ok {
		p.pattern = d.compilePattern(s)
	}
	p.unique = raw["uniqueItems"] == true
}

func texts(values []any) []string {
	var all []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

func (d *document) unresolved(p *part, ref string) error {
	return i18n.Errorf("the reference %q at #%s: %w", "引用 %q（位于 #%s）：%w", ref, p.pointer, errNotFetched)
}
