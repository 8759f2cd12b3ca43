package catalog

import (
	"cmp"
	"strings"

	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// render writes one list for one kind of client.
func (c *Catalog) render(r *rendering, key viewKey, may Visible) {
	t := c.table(key.kind)
	size := 64 + len(c.opt.Meta)
	for _, e := range t.order {
		size += len(e.item.Raw) + len(e.listed) + len(c.labels[e.source]) + 32
	}
	out := make([]byte, 0, size)
	out = append(out, `{"`...)
	out = append(append(out, key.kind.Member()...), `":[`...)
	r.start = len(out)
	for _, e := range t.order {
		if !c.sees(e, may) || key.kind == Tools && !key.ui && forInterfaceOnly(e.item.Raw) {
			continue
		}
		if len(r.ends) > 0 {
			out = append(out, ',')
		}
		out = append(out, c.fitting(key.fit, e, c.written(key.kind, e, key.modern))...)
		r.ends = append(r.ends, len(out))
	}
	out = append(out, ']')
	if key.modern {
		out = c.appendModern(out)
	}
	r.whole = append(out, '}')
	r.epoch = epochOf(r.whole)
}

func (c *Catalog) appendModern(out []byte) []byte {
	out = append(out, `,"resultType":"complete","ttlMs":0,"cacheScope":"private"`...)
	if c.opt.Meta != nil {
		out = append(append(out, `,"_meta":`...), c.opt.Meta...)
	}
	return out
}

// written returns an item as it is listed: its own bytes except for the name,
// the description and the members that the client's era cannot read.
func (c *Catalog) written(k Kind, e *entry, modern bool) []byte {
	raw := e.item.Raw
	if c.unprefixed(e) {
		if e.listed != e.item.Key {
			raw = jsonrpc.Set(raw, jsonrpc.Quote(e.listed), k.key())
		}
	} else {
		raw = c.presented(k, e)
	}
	if d := c.override(k, e).Description; d != "" && c.unprefixed(e) {
		raw = jsonrpc.Set(raw, jsonrpc.Quote(d), "description")
	}
	if k != Tools {
		return raw
	}
	if modern {
		raw = jsonrpc.Set(raw, nil, "execution")
	}
	if e.item.OutputSchema != nil && (c.untyped(e) || !modern && !legacyOutput(e.item.OutputSchema)) {
		raw = jsonrpc.Set(raw, nil, "outputSchema")
	}
	if c.aliased {
		server := c.sources[e.source].Server
		raw = c.outMember(server, raw, "_meta", "ui", "resourceUri")
		raw = c.outMember(server, raw, "_meta", "ui/resourceUri")
	}
	return raw
}

// untyped reports that the output schema of a tool is not listed.
func (n *namespace) untyped(e *entry) bool {
	f := n.sources[e.source].Policy.Untyped
	return f != nil && f(e.item.Key)
}

// fitting returns a tool adapted to a dialect.
func (c *Catalog) fitting(f *fit.Dialect, e *entry, raw []byte) []byte {
	if f == nil {
		return raw
	}
	if short := c.fitted(f).to[e]; short != "" {
		raw = jsonrpc.Set(raw, jsonrpc.Quote(short), "name")
	}
	if schema := f.Schema(e.item.InputSchema); !same(schema, e.item.InputSchema) {
		raw = jsonrpc.Set(raw, schema, "inputSchema")
	}
	return raw
}

func (n *namespace) override(k Kind, e *entry) Override {
	return n.sources[e.source].Policy.rules(k).Items[e.item.Key]
}

// presented returns an item with its listed name, with the server's name before
// the description, and without hidden characters.
func (c *Catalog) presented(k Kind, e *entry) []byte {
	it, raw := e.item, e.item.Raw
	if e.listed != it.Key {
		raw = jsonrpc.Set(raw, jsonrpc.Quote(e.listed), k.key())
	}
	if k == Resources || k == Templates {
		if name := i18n.Clean(it.Name); name != it.Name {
			raw = jsonrpc.Set(raw, jsonrpc.Quote(name), "name")
		}
	}
	if title := i18n.Clean(it.Title); title != it.Title {
		raw = jsonrpc.Set(raw, jsonrpc.Quote(title), "title")
	}
	if title, ok := jsonrpc.GetString(it.Annotations, "title"); ok && i18n.HasHidden(title) {
		raw = jsonrpc.Set(raw, jsonrpc.Quote(i18n.Clean(title)), "annotations", "title")
	}
	if d := c.description(k, e); d != it.Description {
		raw = jsonrpc.Set(raw, jsonrpc.Quote(d), "description")
	}
	return raw
}

// description returns the description with the name of the server. A resource
// without a description gets none, because its URI identifies it. The
// description of a skill is not changed, because clients compare it with the one
// in the skill's file.
func (n *namespace) description(k Kind, e *entry) string {
	d := n.about(k, e)
	if (k == Resources || k == Templates) && (d == "" || strings.HasSuffix(e.item.Key, skillFile)) {
		return d
	}
	mark := "[" + i18n.Clean(n.sources[e.source].Server) + "]"
	if d == "" {
		return mark
	}
	return mark + " " + d
}

// about returns the configured description of an item, else its own.
func (n *namespace) about(k Kind, e *entry) string {
	return cmp.Or(n.override(k, e).Description, i18n.Clean(e.item.Description))
}

// About returns the description of a tool that clients see.
func (c *Catalog) About(ref Ref) string { return c.about(Tools, c.tools().listed[ref.Listed]) }

// legacyOutput reports whether a client up to 2025-11-25 can read an output
// schema: such a client refuses the whole list if a schema is not of type
// object.
func legacyOutput(schema []byte) bool {
	m := mender{}
	return same(m.inputSchema(schema), schema) && m.fatal.Empty()
}

// forInterfaceOnly reports whether a tool is meant for the interface of another
// tool, not for a model.
func forInterfaceOnly(tool []byte) bool {
	visibility := jsonrpc.Get(tool, "_meta", "ui", "visibility")
	if len(visibility) == 0 || visibility[0] != '[' {
		return false
	}
	listed := false
	for who := range jsonrpc.Elements(visibility) {
		if text(who) == "model" {
			return false
		}
		listed = true
	}
	return listed
}
