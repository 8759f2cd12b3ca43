package jsonschema

import (
	"embed"
	"strings"
)

// A schema may be about schemas: those of the drafts themselves are at hand,
// as published by json-schema.org. Nothing else outside a tool's own schema is.
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

// outside marks the pointers into a document that is not the tool's own: it
// stands before and after the URI of the other one.
const outside = "\x00"

// load reads the document at a URI, when it is at hand.
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
		d.resources[uri] = p.resource // it has an $id of its own
	}
	return d.resources[uri]
}
