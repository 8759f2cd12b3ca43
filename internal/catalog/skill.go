package catalog

import (
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// Addresses of skills: the Skills extension, specification/stable/skills.mdx of
// modelcontextprotocol/ext-skills. A skill is a folder with a SKILL.md. Its
// files are resources, whether they are listed or not.

const skillFile = "/SKILL.md"

// skillSource finds the server of the skill that contains the file or folder
// uri, among the skills that clients have seen.
func (n *namespace) skillSource(uri string) (int32, bool) {
	if n.addresses == nil {
		return 0, false
	}
	for folder := uri; ; {
		if server := n.addresses.holder(folder + skillFile); server != "" {
			i, known := n.servers[server]
			return i, known && n.sources[i].Server == server && n.sources[i].Features != nil
		}
		at := strings.LastIndexByte(folder, '/')
		if at < 1 || folder[at-1] == '/' {
			return 0, false
		}
		folder = folder[:at]
	}
}

// SkillOf finds the server of a skill, or of its file or folder, and the
// server's own URI; ok is false if any server may have it.
func (d *directory) SkillOf(uri string) (server, own string, ok bool) {
	if server, own, ok = d.InURI(uri); ok {
		return server, own, true
	}
	if e := d.resources.listed[uri]; e != nil {
		return d.sources[e.source].Server, e.item.Key, true
	}
	if i, known := d.skillSource(uri); known {
		return d.sources[i].Server, uri, true
	}
	return "", uri, false
}

// WriteSkill returns a server's skill with the addresses that clients use for
// it and its files.
func (n *namespace) WriteSkill(server string, skill []byte) []byte {
	uri, ok := jsonrpc.GetString(skill, "uri")
	i, known := n.servers[server]
	if !ok || !known || n.addressOf(i, uri) == uri {
		return skill
	}
	return AliasSkill(server, skill)
}

// AliasSkill returns a server's skill with aliases as addresses.
func AliasSkill(server string, skill []byte) []byte {
	return editEach(AliasMember(server, skill), "resources", func(file []byte) []byte { return AliasMember(server, file) })
}

// AliasMember replaces the uri member of an object with its alias.
func AliasMember(server string, obj []byte) []byte {
	uri, ok := jsonrpc.GetString(obj, "uri")
	if !ok {
		return obj
	}
	return jsonrpc.Set(obj, jsonrpc.Quote(AliasURI(server, uri)), "uri")
}
