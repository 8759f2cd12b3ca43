// Package skills merges the skills of all servers into one list. It implements
// the extension io.modelcontextprotocol/skills (SEP-2640) in its stable
// specification of 2026-09. Requests for a skill or a folder go to its server. The
// files of skills are resources and are read as such. A principal sees the skills
// of the servers whose resources it may read.
package skills

import (
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Join returns the settings of the extension for several servers: a feature of
// one server is a feature of the gateway.
func Join(a, b []byte) []byte {
	if len(b) == 0 || b[0] != '{' || string(jsonrpc.Get(a, "directoryRead")) == "true" {
		return jsonrpc.AsObject(a)
	}
	return b
}

// Answers reports whether a server with these capabilities answers a method of
// the extension.
func Answers(capabilities []byte, method string) bool {
	settings := jsonrpc.Get(capabilities, "extensions", mcp.SkillsExtension)
	if len(settings) == 0 || settings[0] != '{' {
		return false
	}
	return method != mcp.MethodDirectoryRead || string(jsonrpc.Get(settings, "directoryRead")) == "true"
}

// Append adds a page to a list without its closing bracket.
func Append(list, page []byte) []byte {
	if len(page) <= len("[]") {
		return list
	}
	if len(list) > 1 {
		list = append(list, ',')
	}
	return append(list, page[1:len(page)-1]...)
}

// In returns the skills in a server's result with the addresses that clients
// know, without the skills that the configuration hides.
func In(all *catalog.Catalog, server string, result []byte) []byte {
	return shownOf(all, server, jsonrpc.AsArray(jsonrpc.Get(result, "skills")), func(skill []byte) []byte { return all.WriteSkill(server, skill) })
}

// shownOf returns the items of a list that have a URI and that the configuration
// does not hide.
func shownOf(all *catalog.Catalog, server string, list []byte, write func([]byte) []byte) []byte {
	out := []byte{'['}
	for item := range jsonrpc.Elements(list) {
		if uri, ok := jsonrpc.GetString(item, "uri"); ok && !all.Lists(server, catalog.Resources, uri) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, write(item)...)
	}
	return append(out, ']')
}

// Write replaces the addresses in a server's answer by those that clients know.
// If the client asked with an alias, the answer has aliases.
func Write(all *catalog.Catalog, server, method string, byAlias bool, result []byte) []byte {
	if method == mcp.MethodDirectoryRead {
		files := shownOf(all, server, jsonrpc.AsArray(jsonrpc.Get(result, "resources")), func(file []byte) []byte {
			if byAlias {
				return catalog.AliasMember(server, file)
			}
			return file
		})
		return jsonrpc.Set(result, files, "resources")
	}
	skill := jsonrpc.Get(result, "skill")
	if len(skill) == 0 {
		return result
	}
	written := all.WriteSkill(server, skill)
	if byAlias {
		written = catalog.AliasSkill(server, skill)
	}
	return jsonrpc.Set(result, written, "skill")
}
