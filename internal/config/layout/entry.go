package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"strings"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// An approval is for one text: the whole entry as the file has it, with its
// variables as written. The approval records the hash of that text, so it also
// covers keys that later versions add.

// DeniedKey is the key under which an entry shows its part of MCPX's list of
// disabled tools.
const DeniedKey = "disabled_tools of the file"

// Approvable returns an entry with everything that the file says about it.
func (l *Layout) Approvable(e Entry) *document.Node {
	n := literal(e.Value)
	denied := l.DeniedTools()[e.Schema+"/"+e.Name]
	if len(denied) == 0 {
		return n
	}
	list := &document.Node{Kind: document.KindArray}
	for _, name := range denied {
		list.Items = append(list.Items, &document.Node{Kind: document.KindString, Text: name})
	}
	return n.With(append(slices.Clip(n.Members), document.Member{Key: DeniedKey, Value: list}))
}

// literal returns n with every number and boolean as the file writes it,
// because a program gets them in that form in its arguments and environment.
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

// Hash hashes a value in canonical form: JSON in one line, keys in order,
// numbers and booleans as strings. So JSON and YAML files have the same hash.
func Hash(n *document.Node) string {
	sum := sha256.Sum256(Canonical(n).AppendJSON(nil, "", ""))
	return hex.EncodeToString(sum[:])
}

func Canonical(n *document.Node) *document.Node {
	c := *n
	if n.Kind == document.KindNumber || n.Kind == document.KindBool {
		c.Kind = document.KindString
		if n.Raw != "" {
			c.Text = n.Raw
		}
	}
	c.Items, c.Members = slices.Clone(n.Items), slices.Clone(n.Members)
	for i, v := range c.Items {
		c.Items[i] = Canonical(v)
	}
	for i, m := range c.Members {
		c.Members[i].Value = Canonical(m.Value)
	}
	sort.Slice(c.Members, func(i, j int) bool { return c.Members[i].Key < c.Members[j].Key })
	return &c
}

// Hashes returns the approval hashes of the servers of a file, by id.
func (l *Layout) Hashes() map[string]string {
	all := make(map[string]string, len(l.Entries))
	for _, e := range l.Entries {
		all[e.Schema+"/"+e.Name] = Hash(l.Approvable(e))
	}
	return all
}

// Entry returns the server with that id, which must exist.
func (l *Layout) Entry(id string) Entry {
	i := slices.IndexFunc(l.Entries, func(e Entry) bool { return e.Schema+"/"+e.Name == id })
	return l.Entries[i]
}

// Read reads the layout of the file at path.
func Read(path string) (*Layout, error) {
	c := &problem.List{File: path}
	data, _, err := disk.Read(path, document.MaxBytes)
	if err != nil {
		return nil, i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", path, err)
	}
	text, ok := document.Decode(data, c)
	if !ok {
		return nil, c.Err()
	}
	root := document.Parse(text, document.FormatOf(disk.RealPath(path), text), c)
	if root == nil {
		return nil, c.Err()
	}
	l := Of(root, c)
	if l == nil {
		return nil, c.Err()
	}
	return l, nil
}

// DeniedTools returns the tools in MCPX's list of "server.tool", by server id.
// Items that name no server are under "".
func (l *Layout) DeniedTools() map[string][]string {
	if l.Denied == nil {
		return nil
	}
	all := map[string][]string{}
	for _, item := range l.Denied.Items {
		if item.Kind != document.KindString {
			continue
		}
		var best *Entry
		for i, e := range l.Entries {
			if strings.HasPrefix(item.Text, e.Name+".") && (best == nil || len(e.Name) > len(best.Name)) {
				best = &l.Entries[i]
			}
		}
		if best == nil {
			all[""] = append(all[""], item.Text)
			continue
		}
		id := best.Schema + "/" + best.Name
		all[id] = append(all[id], item.Text[len(best.Name)+1:])
	}
	return all
}

// Below returns the layout of a tree; it is empty if the tree has none.
func Below(root *document.Node) *Layout {
	if root != nil {
		if l := Of(root, &problem.List{}); l != nil {
			return l
		}
	}
	return &Layout{}
}

// ByID returns the entries of the servers by id.
func (l *Layout) ByID() map[string]*document.Node {
	entries := map[string]*document.Node{}
	for _, e := range l.Entries {
		entries[e.Schema+"/"+e.Name] = e.Value
	}
	return entries
}
