package config

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// An approved entry is one text: the whole entry as the file has it, with its
// variables as they are written. Its hash is what an approval is of, so a key
// that is new tomorrow is covered too.

// takeApproval gives s the text that a person approves, and its hash.
func (l *layout) takeApproval(s *Server, e entry) {
	n := l.approvable(e)
	s.entry = i18n.SeenJSON(string(n.appendJSON(nil, "", "  ")))
	s.approval = hashOf(n)
}

// approvable is an entry with all that the file says about it.
func (l *layout) approvable(e entry) *node {
	n := literal(e.value)
	denied := l.deniedTools()[e.schema+"/"+e.name]
	if len(denied) == 0 {
		return n
	}
	list := &node{kind: kindArray}
	for _, name := range denied {
		list.items = append(list.items, &node{kind: kindString, text: name})
	}
	return n.with(append(slices.Clip(n.members), member{key: "disabled_tools of the file", value: list}))
}

// literal returns n with every number and boolean as the file writes it, for
// that is what a program gets in its arguments and environment.
func literal(n *node) *node {
	c := *n
	switch n.kind {
	case kindNumber, kindBool:
		if n.raw != "" && n.raw != n.text {
			c.kind, c.text = kindString, n.raw
		}
	case kindArray:
		c.items = make([]*node, len(n.items))
		for i, v := range n.items {
			c.items[i] = literal(v)
		}
	case kindObject:
		c.members = make([]member, len(n.members))
		for i, m := range n.members {
			c.members[i] = member{m.Pos, m.key, literal(m.value)}
		}
	}
	return &c
}

// hashOf hashes a value in canonical form: JSON in one line, keys in order,
// numbers and booleans as texts, so that it does not matter whether the file
// is read as JSON or as YAML.
func hashOf(n *node) string {
	sum := sha256.Sum256(canonical(n).appendJSON(nil, "", ""))
	return hex.EncodeToString(sum[:])
}

func canonical(n *node) *node {
	c := *n
	if n.kind == kindNumber || n.kind == kindBool {
		c.kind = kindString
		if n.raw != "" {
			c.text = n.raw
		}
	}
	c.items, c.members = slices.Clone(n.items), slices.Clone(n.members)
	for i, v := range c.items {
		c.items[i] = canonical(v)
	}
	for i, m := range c.members {
		c.members[i].value = canonical(m.value)
	}
	slices.SortFunc(c.members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	return &c
}

// hashes are the ApprovalHashes of the servers of a file, by id.
func (l *layout) hashes() map[string]string {
	all := make(map[string]string, len(l.entries))
	for _, e := range l.entries {
		all[e.schema+"/"+e.name] = hashOf(l.approvable(e))
	}
	return all
}

// entry is the server of that id, which is there.
func (l *layout) entry(id string) entry {
	i := slices.IndexFunc(l.entries, func(e entry) bool { return e.schema+"/"+e.name == id })
	return l.entries[i]
}

// filesHash is a hash of what the files hold that the entry n reads; "" when
// there are none. A file can hold a command as well as a password, so every file counts
// except those that headers read, which run nothing.
func (r *resolver) filesHash(n *node) string {
	own := ownServer(n, "", &problem.List{})
	h := newFieldHash()
	found := false
	for _, m := range own.members {
		if m.key == "headers" {
			continue
		}
		for _, name := range placeholders(m.value) {
			path, ok := strings.CutPrefix(name, "file:")
			if !ok {
				continue
			}
			found = true
			if text, err := r.file(path); err == nil {
				h.add(m.key, path, text)
			} else {
				h.add(m.key, path)
			}
		}
	}
	if !found {
		return ""
	}
	return h.sum()
}

// layoutOf is the layout of the file at path as it is now.
func layoutOf(path string) (*layout, error) {
	c := &problem.List{File: path}
	data, _, err := disk.Read(path, maxFile)
	if err != nil {
		return nil, i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", path, err)
	}
	text, ok := decodeText(data, c)
	if !ok {
		return nil, c.Err()
	}
	root := parse(text, formatOf(realPath(path), text), c)
	if root == nil {
		return nil, c.Err()
	}
	l := takeApart(root, c)
	if l == nil {
		return nil, c.Err()
	}
	return l, nil
}

// deniedTools are the tools of MCPX's list of "server.tool", by server id.
// What names no server is under "".
func (l *layout) deniedTools() map[string][]string {
	if l.denied == nil {
		return nil
	}
	all := map[string][]string{}
	for _, item := range l.denied.items {
		if item.kind != kindString {
			continue
		}
		var best *entry
		for i, e := range l.entries {
			if strings.HasPrefix(item.text, e.name+".") && (best == nil || len(e.name) > len(best.name)) {
				best = &l.entries[i]
			}
		}
		if best == nil {
			all[""] = append(all[""], item.text)
			continue
		}
		id := best.schema + "/" + best.name
		all[id] = append(all[id], item.text[len(best.name)+1:])
	}
	return all
}
