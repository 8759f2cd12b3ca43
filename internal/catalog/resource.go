package catalog

import (
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// Resource finds the server of a URI: as listed, by an alias, as service__uri,
// as a file of a skill, or by the template that matches it best. Otherwise the
// miss lists the servers to ask, in order.
func (d *directory) Resource(uri string) (Ref, *Miss) { return d.ResourceFor(uri, nil) }

// ResourceFor is Resource, limited to the resources that the caller may see.
func (d *directory) ResourceFor(uri string, may Visible) (Ref, *Miss) {
	for _, t := range [...]*table{&d.resources, &d.templates} {
		if e := t.listed[uri]; d.sees(e, may) {
			return d.ref(e), nil
		}
	}
	if server, own, ok := d.InURI(uri); ok {
		return d.unlisted(d.servers[server], uri, own, may)
	}
	for at := range splits(uri, separator) {
		if i, known := d.servers[uri[:at]]; known {
			return d.unlisted(i, uri, uri[at+len(separator):], may)
		}
	}
	if i, ok := d.skillSource(uri); ok && (may == nil || may(d.sources[i].Server, uri)) {
		return d.unlisted(i, uri, uri, may)
	}
	if e := d.bestTemplate(uri, may); e != nil {
		return Ref{Server: d.sources[e.source].Server, Name: uri, Item: e.item, Listed: uri}, nil
	}
	miss := &Miss{Kind: Unknown}
	for i := range d.sources {
		src := &d.sources[i]
		if src.Features.Offers("resources") && d.uris[i].reads(uri) && (may == nil || may(src.Server, uri)) {
			miss.Candidates = append(miss.Candidates, src.Server)
		}
	}
	return Ref{}, miss
}

// unlisted resolves a URI whose server is known.
func (d *directory) unlisted(source int32, uri, own string, may Visible) (Ref, *Miss) {
	src := &d.sources[source]
	key := ownKey{source, own}
	e := d.resources.own[key]
	if may != nil && !may(src.Server, own) || e == nil && d.templates.own[key] == nil && !d.uris[source].reads(own) {
		return Ref{}, &Miss{Kind: Unknown}
	}
	if src.Features == nil {
		return Ref{}, &Miss{Kind: ServerDown, Server: src.Server, State: src.State}
	}
	ref := Ref{Server: src.Server, Name: own, Listed: uri}
	if e != nil {
		ref.Item, ref.Listed = e.item, e.listed
	}
	return ref, nil
}

// bestTemplate returns the most specific template that matches uri; of equal
// ones, the first in the configuration. It skips aliased templates, because
// URIs made from them are aliases themselves.
func (d *directory) bestTemplate(uri string, may Visible) *entry {
	var best *entry
	for _, e := range d.templates.order {
		prefix, _, _ := strings.Cut(e.item.Key, "{")
		if e.listed != e.item.Key || !strings.HasPrefix(uri, prefix) || !d.sees(e, may) {
			continue
		}
		if best != nil && literalLength(e.item.Key) <= literalLength(best.item.Key) {
			continue
		}
		if e.made.match(e.item.Key, uri) != nil && d.uris[e.source].reads(uri) {
			best = e
		}
	}
	return best
}

// CompletionFor finds the server that completes a reference to an item that the
// caller may see, and returns the reference in that server's terms.
func (d *directory) CompletionFor(ref []byte, may Visible) (server string, own []byte, miss *Miss) {
	member, find := "uri", d.ResourceFor
	if kind, _ := jsonrpc.GetString(ref, "type"); kind == "ref/prompt" {
		member, find = "name", d.PromptFor
	} else if kind != "ref/resource" {
		return "", nil, &Miss{Kind: Unknown}
	}
	name, ok := jsonrpc.GetString(ref, member)
	if !ok {
		return "", nil, &Miss{Kind: Unknown}
	}
	found, miss := find(name, may)
	if miss != nil {
		return "", nil, miss
	}
	if found.Name == name {
		return found.Server, ref, nil
	}
	return found.Server, jsonrpc.Set(ref, jsonrpc.Quote(found.Name), member), nil
}
