package config

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/document"
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
	s.entry = i18n.SeenJSON(string(n.AppendJSON(nil, "", "  ")))
	s.approval = hashOf(n)
}

// deniedKey is what an entry shows MCPX's list of tools as that are off.
const deniedKey = "disabled_tools of the file"

// approvable is an entry with all that the file says about it.
func (l *layout) approvable(e entry) *document.Node {
	n := literal(e.value)
	denied := l.deniedTools()[e.schema+"/"+e.name]
	if len(denied) == 0 {
		return n
	}
	list := &document.Node{Kind: document.KindArray}
	for _, name := range denied {
		list.Items = append(list.Items, &document.Node{Kind: document.KindString, Text: name})
	}
	return n.With(append(slices.Clip(n.Members), document.Member{Key: deniedKey, Value: list}))
}

// literal returns n with every number and boolean as the file writes it, for
// that is what a program gets in its arguments and environment.
func literal(n *document.Node) *document.Node {
	c := *n
	switch n.Kind {
	case document.KindNumber, document.KindBool:
		if n.Raw != "" && n.Raw != n.Text {
			c.Kind, c.Text = document.KindString, n.Raw
		}
	case document.KindArray:
		c.Items = make([]*document.Node, len(n.Items))
		for i, v := range n.Items {
			c.Items[i] = literal(v)
		}
	case document.KindObject:
		c.Members = make([]document.Member, len(n.Members))
		for i, m := range n.Members {
			c.Members[i] = document.Member{Pos: m.Pos, Key: m.Key, Value: literal(m.Value)}
		}
	}
	return &c
}

// hashOf hashes a value in canonical form: JSON in one line, keys in order,
// numbers and booleans as texts, so that it does not matter whether the file
// is read as JSON or as YAML.
func hashOf(n *document.Node) string {
	sum := sha256.Sum256(canonical(n).AppendJSON(nil, "", ""))
	return hex.EncodeToString(sum[:])
}

func canonical(n *document.Node) *document.Node {
	c := *n
	if n.Kind == document.KindNumber || n.Kind == document.KindBool {
		c.Kind = document.KindString
		if n.Raw != "" {
			c.Text = n.Raw
		}
	}
	c.Items, c.Members = slices.Clone(n.Items), slices.Clone(n.Members)
	for i, v := range c.Items {
		c.Items[i] = canonical(v)
	}
	for i, m := range c.Members {
		c.Members[i].Value = canonical(m.Value)
	}
	slices.SortFunc(c.Members, func(a, b document.Member) int { return strings.Compare(a.Key, b.Key) })
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
func (r *resolver) filesHash(n *document.Node) string {
	own := ownServer(n, "", &problem.List{})
	h := newFieldHash()
	found := false
	for _, m := range own.Members {
		if m.Key == "headers" {
			continue
		}
		for _, name := range placeholders(m.Value) {
			path, ok := strings.CutPrefix(name, "file:")
			if !ok {
				continue
			}
			found = true
			if text, err := r.file(path); err == nil {
				h.add(m.Key, path, text)
			} else {
				h.add(m.Key, path)
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
	root := document.Parse(text, formatOf(disk.RealPath(path), text), c)
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
	for _, item := range l.denied.Items {
		if item.Kind != document.KindString {
			continue
		}
		var best *entry
		for i, e := range l.entries {
			if strings.HasPrefix(item.Text, e.name+".") && (best == nil || len(e.name) > len(best.name)) {
				best = &l.entries[i]
			}
		}
		if best == nil {
			all[""] = append(all[""], item.Text)
			continue
		}
		id := best.schema + "/" + best.name
		all[id] = append(all[id], item.Text[len(best.name)+1:])
	}
	return all
}
