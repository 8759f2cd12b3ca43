package catalog

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// Resource finds who has a URI: as listed, by an alias, as service__uri, as a
// file of a skill, by the template that it matches best. For any other one the
// miss names the servers that may be asked, in order.
func (c *Catalog) Resource(uri string) (Ref, *Miss) { return c.ResourceFor(uri, nil) }

// ResourceFor is Resource among what the caller may see.
func (c *Catalog) ResourceFor(uri string, may Visible) (Ref, *Miss) {
	for _, t := range [...]*table{&c.resources, &c.templates} {
		if e := t.listed[uri]; c.sees(e, may) {
			return c.ref(e), nil
		}
	}
	if server, own, ok := c.InURI(uri); ok {
		return c.unlisted(c.servers[server], uri, own, may)
	}
	for at := range splits(uri, separator) {
		if i, known := c.servers[uri[:at]]; known {
			return c.unlisted(i, uri, uri[at+len(separator):], may)
		}
	}
	if i, ok := c.skillSource(uri); ok && (may == nil || may(c.sources[i].Server, uri)) {
		return c.unlisted(i, uri, uri, may)
	}
	if e := c.bestTemplate(uri, may); e != nil {
		return Ref{Server: c.sources[e.source].Server, Name: uri, Item: e.item, Listed: uri}, nil
	}
	miss := &Miss{Kind: Unknown}
	for i := range c.sources {
		src := &c.sources[i]
		if src.Features.Offers("resources") && c.uris[i].reads(uri) && (may == nil || may(src.Server, uri)) {
			miss.Candidates = append(miss.Candidates, src.Server)
		}
	}
	return Ref{}, miss
}

// unlisted is a URI that names its server.
func (c *Catalog) unlisted(source int32, uri, own string, may Visible) (Ref, *Miss) {
	src := &c.sources[source]
	e := c.resources.own[ownKey{source, own}]
	if may != nil && !may(src.Server, own) || e == nil && !c.uris[source].reads(own) && !c.made(source, own) {
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
func (c *Catalog) bestTemplate(uri string, may Visible) *entry {
	var best *entry
	for _, e := range c.templates.order {
		prefix, _, _ := strings.Cut(e.item.Key, "{")
		if e.listed != e.item.Key || !strings.HasPrefix(uri, prefix) || !c.sees(e, may) || !c.uris[e.source].lists(uri) {
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
func (c *Catalog) made(source int32, uri string) bool {
	return c.uris[source].lists(uri) && slices.ContainsFunc(c.templates.order, func(e *entry) bool {
		return e.source == source && (e.item.Key == uri || e.made.match(e.item.Key, uri) != nil)
	})
}

// Completion finds the server that completes a reference and writes the
// reference as that server knows it.
func (c *Catalog) Completion(ref []byte) (server string, own []byte, miss *Miss) {
	return c.CompletionFor(ref, nil)
}

// CompletionFor is Completion among what the caller may see.
func (c *Catalog) CompletionFor(ref []byte, may Visible) (server string, own []byte, miss *Miss) {
	member, find := "uri", c.ResourceFor
	if kind, _ := jsonrpc.GetString(ref, "type"); kind == "ref/prompt" {
		member, find = "name", c.PromptFor
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
