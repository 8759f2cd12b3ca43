package catalog

import (
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// The addresses of skills: the Skills extension, specification/stable/skills.mdx
// of modelcontextprotocol/ext-skills. A skill is a folder with a SKILL.md, whose
// files are resources whether they are listed or not.

const skillFile = "/SKILL.md"

// skillSource finds the server of a skill whose file or folder uri is, among the
// skills that clients were told of.
func (c *Catalog) skillSource(uri string) (int32, bool) {
	if c.addresses == nil {
		return 0, false
	}
	for folder := uri; ; {
		if server := c.addresses.holder(folder + skillFile); server != "" {
			i, known := c.servers[server]
			return i, known && c.sources[i].Server == server && c.sources[i].Features != nil
		}
		at := strings.LastIndexByte(folder, '/')
		if at < 1 || folder[at-1] == '/' {
			return 0, false
		}
		folder = folder[:at]
	}
}

// SkillOf finds the one server that a skill, its file or its folder belongs to,
// and the server's own URI; ok is false where any may have it.
func (c *Catalog) SkillOf(uri string) (server, own string, ok bool) {
	if server, own, ok = c.InURI(uri); ok {
		return server, own, true
	}
	if e := c.resources.listed[uri]; e != nil {
		return c.sources[e.source].Server, e.item.Key, true
	}
	if i, known := c.skillSource(uri); known {
		return c.sources[i].Server, uri, true
	}
	return "", uri, false
}

// WriteSkill is a server's skill with the address that clients know it by, and
// with its files below that.
func (c *Catalog) WriteSkill(server string, skill []byte) []byte {
	uri, ok := jsonrpc.GetString(skill, "uri")
	i, known := c.servers[server]
	if !ok || !known || c.addressOf(i, uri) == uri {
		return skill
	}
	return AliasSkill(server, skill)
}

// AliasSkill is a server's skill under its alias.
func AliasSkill(server string, skill []byte) []byte {
	return editEach(AliasMember(server, skill), "resources", func(file []byte) []byte { return AliasMember(server, file) })
}

// AliasMember puts the alias for the uri member of an object.
func AliasMember(server string, obj []byte) []byte {
	uri, ok := jsonrpc.GetString(obj, "uri")
	if !ok {
		return obj
	}
	return jsonrpc.Set(obj, jsonrpc.Quote(AliasURI(server, uri)), "uri")
}
