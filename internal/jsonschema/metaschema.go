package jsonschema

import (
	"embed"
	"strings"
)

// metaschemas holds the schemas of the drafts themselves, as published by
// json-schema.org: a schema may refer to them. No other document outside a
// tool's own schema is available.
//
//go:embed metaschema
var metaschemas embed.FS

// metaschema returns the published schema at a URI.
func metaschema(uri string) ([]byte, bool) {
	_, path, _ := strings.Cut(uri, "://json-schema.org/")
	name := ""
	switch rest, modern := strings.CutPrefix(path, "draft/2020-12/"); {
	case path == "draft-07/schema":
		name = "draft-07"
	case modern && rest == "schema":
		name = "2020-12"
	case modern && strings.HasPrefix(rest, "meta/"):
		name = rest
	default:
		return nil, false
	}
	raw, err := metaschemas.ReadFile("metaschema/" + name + ".json")
	return raw, err == nil
}

// outside marks a pointer into a document other than the tool's own schema. It
// is written before and after the URI of that document.
const outside = "\x00"

// load reads the document at a URI, if it is available.
func (d *document) load(uri string) *resource {
	if d.known == nil {
		return nil
	}
	data, ok := d.known(uri)
	if !ok {
		return nil
	}
	raw, err := decode(data)
	if err != nil {
		return nil
	}
	d.others[uri] = raw
	in := &resource{uri: uri, pointer: outside + uri + outside, anchors: map[string]*part{}, dynamic: map[string]*part{}}
	d.resources[uri] = in
	if p := d.part(raw, in.pointer, in); p.resource != in {
		d.resources[uri] = p.resource // the document has an $id of its own
	}
	return d.resources[uri]
}
