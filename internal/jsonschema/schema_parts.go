package jsonschema

import (
	"net/url"
	"strconv"
	"strings"
)

func escapePointer(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

func UnescapePointer(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// child compiles the subschema under a keyword; nil if there is none.
func (d *document) child(p *part, raw map[string]any, keyword string) *part {
	v, ok := raw[keyword]
	if !ok {
		return nil
	}
	return d.part(v, p.pointer+"/"+escapePointer(keyword), p.resource)
}

// each compiles the subschemas in an object.
func (d *document) each(p *part, v any, keyword string) map[string]*part {
	obj, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	parts := make(map[string]*part, len(obj))
	for name, sub := range obj {
		parts[name] = d.part(sub, p.pointer+"/"+keyword+"/"+escapePointer(name), p.resource)
	}
	return parts
}

// list compiles the subschemas in an array.
func (d *document) list(p *part, v any, keyword string) []*part {
	arr, _ := v.([]any)
	var parts []*part
	for i, sub := range arr {
		parts = append(parts, d.part(sub, p.pointer+"/"+keyword+"/"+strconv.Itoa(i), p.resource))
	}
	return parts
}

func (d *document) objects(p *part, raw map[string]any) {
	if names, ok := raw["required"].([]any); ok {
		p.required = texts(names)
	}
	p.names = d.child(p, raw, "propertyNames")
	p.properties = d.each(p, raw["properties"], "properties")
	for pattern, sub := range d.each(p, raw["patternProperties"], "patternProperties") {
		expr := d.compilePattern(pattern)
		if expr == nil {
			p.anyName = true
			continue
		}
		p.patternProperties = append(p.patternProperties, patternPart{expr, sub})
	}
	p.additional = d.child(p, raw, "additionalProperties")
	p.dependentSchemas = d.each(p, raw["dependentSchemas"], "dependentSchemas")
	for _, keyword := range [...]string{"dependentRequired", "dependencies"} {
		obj, _ := raw[keyword].(map[string]any)
		for name, v := range obj {
			if names, ok := v.([]any); ok {
				if p.dependentRequired == nil {
					p.dependentRequired = make(map[string][]string)
				}
				p.dependentRequired[name] = texts(names)
				continue
			}
			if p.dependentSchemas == nil {
				p.dependentSchemas = make(map[string]*part)
			}
			p.dependentSchemas[name] = d.part(v, p.pointer+"/"+keyword+"/"+escapePointer(name), p.resource)
		}
	}
}

func (d *document) arrays(p *part, raw map[string]any) {
	if tuple, ok := raw["items"].([]any); ok {
		p.prefix = d.list(p, tuple, "items")
		p.items = d.child(p, raw, "additionalItems")
	} else {
		p.prefix = d.list(p, raw["prefixItems"], "prefixItems")
		p.items = d.child(p, raw, "items")
	}
	p.contains = d.child(p, raw, "contains")
	if n, ok := count(raw["minContains"]); ok && !d.draft7 {
		p.minContains = n
	}
	if n, ok := count(raw["maxContains"]); ok && !d.draft7 {
		p.maxContains = n
	}
}

func (d *document) compositions(p *part, raw map[string]any) {
	p.allOf = d.list(p, raw["allOf"], "allOf")
	p.anyOf = d.list(p, raw["anyOf"], "anyOf")
	p.oneOf = d.list(p, raw["oneOf"], "oneOf")
	p.not = d.child(p, raw, "not")
	p.condition = d.child(p, raw, "if")
	p.then = d.child(p, raw, "then")
	p.orElse = d.child(p, raw, "else")
	p.unevaluatedProperties = d.child(p, raw, "unevaluatedProperties")
	p.unevaluatedItems = d.child(p, raw, "unevaluatedItems")
	d.tracks = d.tracks || p.unevaluatedProperties != nil || p.unevaluatedItems != nil
}

// link resolves the references of a part.
func (d *document) link(p *part) error {
	if p.ref != "" {
		if p.target = d.lookup(p.resource, p.ref); p.target == nil {
			return d.unresolved(p, p.ref)
		}
	}
	if p.dynamicRef != "" {
		if p.bookend = d.lookup(p.resource, p.dynamicRef); p.bookend == nil {
			return d.unresolved(p, p.dynamicRef)
		}
		if _, name := split(p.dynamicRef); p.bookend.resource.dynamic[name] == p.bookend {
			p.dynamicName = name
		}
	}
	return nil
}

func (d *document) lookup(from *resource, ref string) *part {
	uri, fragment := split(resolveURI(from.uri, ref))
	in := d.resources[uri]
	if in == nil {
		if in = d.load(uri); in == nil {
			return nil
		}
	}
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	if fragment != "" && fragment[0] != '/' {
		return in.anchors[fragment]
	}
	pointer := in.pointer + fragment
	if p := d.parts[pointer]; p != nil {
		return p
	}
	raw, ok := d.at(pointer)
	if !ok {
		return nil
	}
	return d.part(raw, pointer, in)
}

// at returns the value at a JSON pointer of the document.
func (d *document) at(pointer string) (any, bool) {
	v := d.raw
	if other, ok := strings.CutPrefix(pointer, outside); ok {
		uri, rest, _ := strings.Cut(other, outside)
		v, pointer = d.others[uri], rest
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		token = UnescapePointer(token)
		switch in := v.(type) {
		case map[string]any:
			sub, ok := in[token]
			if !ok {
				return nil, false
			}
			v = sub
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func resolveURI(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ref
	}
	r, err := b.Parse(ref)
	if err != nil {
		return ref
	}
	return r.String()
}

// split splits a URI into base and fragment.
func split(uri string) (base, fragment string) {
	base, fragment, _ = strings.Cut(uri, "#")
	return base, fragment
}
