package catalog

import "mcp-all-in-one/internal/jsonrpc"

// uriTable lists the resources or templates of all servers under their own
// URIs. If several servers have the same URI, the server that it was given to
// keeps it, and the others are listed under an alias.
func (n *namespace) uriTable(k Kind) table {
	t := table{listed: make(map[string]*entry), own: make(map[ownKey]*entry)}
	starts := make([]int, len(n.sources)+1)
	for i := range n.sources {
		items := n.sources[i].Features.items(k)
		for j := range items {
			item := &items[j]
			if !n.uris[i].lists(item.Key) {
				continue
			}
			e := &entry{source: int32(i), item: item, name: item.Key}
			if k == Templates {
				e.made = &pattern{}
				if u := n.uris[i]; u != nil && len(u.off) > 0 {
					u.on = append(u.on, newTemplateForms(item.Key))
				}
			}
			t.order = append(t.order, e)
			t.own[ownKey{int32(i), item.Key}] = e
		}
		starts[i+1] = len(t.order)
	}
	for _, i := range n.seniority {
		for _, e := range t.order[starts[i]:starts[i+1]] {
			e.listed = n.addressOf(i, e.item.Key)
			t.aliased = t.aliased || e.listed != e.item.Key
			t.listed[e.listed] = e
		}
	}
	return t
}

// RewriteURIs replaces a server's URIs in a result with the addresses that
// clients use: in contents, links, embedded resources and the interface of a
// tool. It returns the same slice if there is nothing to replace.
func (d *directory) RewriteURIs(server string, result []byte) []byte {
	if !d.aliased {
		return result
	}
	result = editEach(result, "contents", func(content []byte) []byte {
		return d.outMember(server, content, "uri")
	})
	result = editEach(result, "content", func(block []byte) []byte {
		return d.outBlock(server, block)
	})
	return editEach(result, "messages", func(message []byte) []byte {
		block := jsonrpc.Get(message, "content")
		if block == nil {
			return message
		}
		if out := d.outBlock(server, block); !same(out, block) {
			return jsonrpc.Set(message, out, "content")
		}
		return message
	})
}

// Told replaces the server's own URI in the contents of a read result with the
// address that the client asked for.
func Told(result []byte, own, asked string) []byte {
	return editEach(result, "contents", func(content []byte) []byte {
		if uri, ok := jsonrpc.GetString(content, "uri"); !ok || uri != own {
			return content
		}
		return jsonrpc.Set(content, jsonrpc.Quote(asked), "uri")
	})
}

func (d *directory) outBlock(server string, block []byte) []byte {
	switch kind, _ := jsonrpc.GetString(block, "type"); kind {
	case "resource_link":
		return d.outMember(server, block, "uri")
	case "resource":
		return d.outMember(server, block, "resource", "uri")
	}
	return block
}

func (d *directory) outMember(server string, obj []byte, path ...string) []byte {
	uri, ok := jsonrpc.GetString(obj, path...)
	if !ok {
		return obj
	}
	if out := d.OutURI(server, uri); out != uri {
		return jsonrpc.Set(obj, jsonrpc.Quote(out), path...)
	}
	return obj
}
