package catalog

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// Resource finds who has a URI: as listed, by an alias, as service__uri, as a
// file of a skill, by the template that it matches best. For any other one the
// miss names the servers that may be asked, in order.
func (d *directory) Resource(uri string) (Ref, *Miss) { return d.ResourceFor(uri, nil) }

// ResourceFor is Resource among what the caller may see.
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

// unlisted is a URI that names its server.
func (d *directory) unlisted(source int32, uri, own string, may Visible) (Ref, *Miss) {
	src := &d.sources[source]
	e := d.resources.own[ownKey{source, own}]
	if may != nil && !may(src.Server, own) || e == nil && !d.uris[source].reads(own) && !d.made(source, own) {
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

// bestTemplate is the most specific template that uri matches; of equal ones
// the first of the configuration. What is made from an aliased one is an alias
// itself.
func (d *directory) bestTemplate(uri string, may Visible) *entry {
	var best *entry
	for _, e := range d.templates.order {
		prefix, _, _ := strings.Cut(e.item.Key, "{")
		if e.listed != e.item.Key || !strings.HasPrefix(uri, prefix) || !d.sees(e, may) || !d.uris[e.source].lists(uri) {
			continue
		}
		if best != nil && literalLength(e.item.Key) <= literalLength(best.item.Key) {
			continue
		}
		if e.made.match(e.item.Key, uri) != nil {
			best = e
		}
	}
	return best
}

// made says whether a template that a server lists makes a URI that may be
// seen.
func (d *directory) made(source int32, uri string) bool {
	return d.uris[source].lists(uri) && slices.ContainsFunc(d.templates.order, func(e *entry) bool {
		return e.source == source && (e.item.Key == uri || e.made.match(e.item.Key, uri) != nil)
	})
}

// Completion finds the server that completes a reference and writes the
// reference as that server knows it.
func (d *directory) Completion(ref []byte) (server string, own []byte, miss *Miss) {
	return d.CompletionFor(ref, nil)
}

// CompletionFor is Completion among what the caller may see.
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
