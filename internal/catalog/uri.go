package catalog

import (
	"net/url"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// uriTable lists the resources or templates of all servers under their own
// URIs. Where several servers have the same one, the first of the
// configuration keeps it and the others are listed under an alias.
func (c *Catalog) uriTable(k Kind) table {
	t := table{listed: make(map[string]*entry), own: make(map[ownKey]*entry)}
	for i := range c.sources {
		items := c.sources[i].Features.items(k)
		for j := range items {
			item := &items[j]
			if !c.uris[i].lists(item.Key) {
				continue
			}
			e := &entry{source: int32(i), item: item, name: item.Key, listed: item.Key}
			if k == Templates {
				e.made, e.madeFromAlias = &pattern{}, &pattern{}
			}
			if t.listed[item.Key] != nil {
				e.listed = aliasURI(c.sources[i].Server, k, item.Key)
				c.aliased = true
			}
			t.order = append(t.order, e)
			t.listed[e.listed] = e
			t.own[ownKey{int32(i), item.Key}] = e
		}
	}
	return t
}

// aliasScheme is the scheme of the aliases of a server's URIs. Schemes ignore
// case and know few characters; a name that would change gets a mark.
func aliasScheme(server string) string {
	var b strings.Builder
	for i := 0; i < len(server); i++ {
		ch := server[i]
		if ch >= 'a' && ch <= 'z' || ch >= '0' && ch <= '9' || ch == '-' || ch == '.' {
			b.WriteByte(ch)
		} else if ch >= 'A' && ch <= 'Z' {
			b.WriteByte(ch + 'a' - 'A')
		} else {
			b.WriteByte('-')
		}
	}
	if b.String() != server || server == "" {
		return "mcp+" + b.String() + "-" + digest(8, server)
	}
	return "mcp+" + server
}

// templateMark begins the alias of a template: a URI cannot begin with it, so
// that what is expanded from one is told from an encoded URI.
const templateMark = "~"

func aliasURI(server string, k Kind, uri string) string {
	if k != Templates {
		return aliasScheme(server) + ":" + percentEncode(uri)
	}
	var b strings.Builder
	b.WriteString(aliasScheme(server) + ":" + templateMark)
	for _, p := range parseTemplate(uri) {
		if p.expression {
			b.WriteString(p.text)
		} else {
			b.WriteString(percentEncode(p.text))
		}
	}
	return b.String()
}

// percentEncode leaves the unreserved characters of RFC 3986 and nothing else.
func percentEncode(s string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		ch := s[i]
		if isNameByte(ch) || ch == '.' {
			b.WriteByte(ch)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[ch>>4])
		b.WriteByte(hexDigits[ch&15])
	}
	return b.String()
}

// OutURI is the URI under which clients know a server's URI.
func (c *Catalog) OutURI(server, uri string) string {
	if !c.aliased {
		return uri
	}
	i, ok := c.servers[server]
	if !ok {
		return uri
	}
	if e := c.resources.own[ownKey{i, uri}]; e != nil {
		return e.listed
	}
	if e := c.templates.own[ownKey{i, uri}]; e != nil {
		return e.listed
	}
	return uri
}

// InURI turns an aliased URI back into a server and its own URI; ok is false
// when uri is no alias of ours.
func (c *Catalog) InURI(uri string) (server, own string, ok bool) {
	scheme, rest, found := strings.Cut(uri, ":")
	if !found || !strings.HasPrefix(scheme, "mcp+") {
		return "", "", false
	}
	i, known := c.schemes[strings.ToLower(scheme)]
	if !known {
		return "", "", false
	}
	server = c.sources[i].Server
	if strings.HasPrefix(rest, templateMark) {
		own, ok = c.expandedFrom(i, uri)
		return server, own, ok
	}
	own, err := url.PathUnescape(rest)
	if err != nil || own == "" {
		return "", "", false
	}
	return server, own, true
}

// expandedFrom finds the aliased template of a server that uri was made from
// and returns what its own template would have made. A template's alias leads
// to the template itself.
func (c *Catalog) expandedFrom(source int32, uri string) (own string, ok bool) {
	if e := c.templates.listed[uri]; e != nil && e.source == source {
		return e.item.Key, true
	}
	for _, e := range c.templates.order {
		if e.source != source || e.listed == e.item.Key {
			continue
		}
		values := e.madeFromAlias.match(e.listed, uri)
		if values == nil {
			continue
		}
		var b strings.Builder
		for _, p := range parseTemplate(e.item.Key) {
			if p.expression {
				b.WriteString(values[0])
				values = values[1:]
			} else {
				b.WriteString(p.text)
			}
		}
		return b.String(), true
	}
	return "", false
}

// RewriteURIs puts the URIs that clients know into a server's result: of
// contents, links, embedded resources and the interface of a tool. The same
// slice comes back when there is nothing to do.
func (c *Catalog) RewriteURIs(server string, result []byte) []byte {
	if !c.aliased {
		return result
	}
	result = editEach(result, "contents", func(content []byte) []byte {
		return c.outMember(server, content, "uri")
	})
	result = editEach(result, "content", func(block []byte) []byte {
		return c.outBlock(server, block)
	})
	return editEach(result, "messages", func(message []byte) []byte {
		block := jsonrpc.Get(message, "content")
		if block == nil {
			return message
		}
		if out := c.outBlock(server, block); !same(out, block) {
			return jsonrpc.Set(message, out, "content")
		}
		return message
	})
}

func (c *Catalog) outBlock(server string, block []byte) []byte {
	switch kind, _ := jsonrpc.GetString(block, "type"); kind {
	case "resource_link":
		return c.outMember(server, block, "uri")
	case "resource":
		return c.outMember(server, block, "resource", "uri")
	}
	return block
}

func (c *Catalog) outMember(server string, obj []byte, path ...string) []byte {
	uri, ok := jsonrpc.GetString(obj, path...)
	if !ok {
		return obj
	}
	if out := c.OutURI(server, uri); out != uri {
		return jsonrpc.Set(obj, jsonrpc.Quote(out), path...)
	}
	return obj
}
