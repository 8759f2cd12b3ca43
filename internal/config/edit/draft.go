// Package edit changes a configuration file. A Draft of the file is edited,
// checked as config.Load does, and written to the file with its comments.
// Changes by a client wait for approval, and secrets that the client may not
// see are kept.
package edit

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// Draft is a file being changed.
type Draft struct {
	path   string
	format document.Format
	file   []byte // content of the file
	data   []byte // text that the draft started from
	text   []byte // the exact new text; nil if it is made from data and root
	mode   fs.FileMode
	old    *document.Node // nil if there is no file yet
	root   *document.Node
	unread map[string]bool // ids of servers that were changed by a writer who has not read them
	// switched are the ids of servers that were switched on (true) or off
	// (false).
	switched map[string]bool
	// proposed are the ids of servers that wait for approval even if a person
	// writes the file.
	proposed map[string]bool
}

// Entry returns the entry of a server as JSON, with its variables as written.
// It returns nil if there is none.
func (d *Draft) Entry(schema, name string) []byte {
	e := d.find(schema, name)
	if e == nil {
		return nil
	}
	return e.Value.AppendJSON(nil, "", "  ")
}

// ApprovalHash returns the hash that the entry of a server will have when it is
// loaded.
func (d *Draft) ApprovalHash(schema, name string) string {
	e := d.find(schema, name)
	if e == nil {
		return ""
	}
	return layout.Hash(layout.Of(d.root, &problem.List{}).Approvable(*e))
}

// SetServer adds a server or replaces the one with that name. entry is a JSON
// object; a value of [REDACTED] keeps the value in the file.
func (d *Draft) SetServer(schema, name string, entry []byte) error {
	c := &problem.List{File: name}
	v := document.Parse(entry, document.FormatJSON, c)
	if v == nil {
		return c.Err()
	}
	if e := d.find(schema, name); e != nil {
		if document.ItemName(e.Value) != "" && !e.Path[len(e.Path)-1].IsKey && !v.Has("name") {
			v = v.With(append([]document.Member{{Key: "name", Value: e.Value.Get("name")}}, v.Members...))
		}
		var err error
		if v, err = unredact(v, e.Value); err != nil {
			return err
		}
		d.root = replaceAt(d.root, e.Path, v)
		return nil
	}
	if _, err := unredact(v, nil); err != nil {
		return err
	}
	return d.addServer(schema, name, v)
}

// ChangeServer is like SetServer for a change by a writer who has not read the
// whole entry: if the entry waits for approval, it continues to wait.
func (d *Draft) ChangeServer(schema, name string, entry []byte) error {
	d.isUnread(schema, name)
	return d.SetServer(schema, name, entry)
}

// ProposeServer is like SetServer for an entry that no person has written or
// read: it waits for approval.
func (d *Draft) ProposeServer(schema, name string, entry []byte) error {
	if d.proposed == nil {
		d.proposed = map[string]bool{}
	}
	d.proposed[cmp.Or(schema, layout.DefaultSchema)+"/"+name] = true
	return d.SetServer(schema, name, entry)
}

func (d *Draft) isUnread(schema, name string) {
	schema = cmp.Or(schema, layout.DefaultSchema)
	if d.unread == nil {
		d.unread = map[string]bool{}
	}
	d.unread[schema+"/"+name] = true
}

// addServer appends a new entry.
func (d *Draft) addServer(schema, name string, v *document.Node) error {
	if fault := spelling.Fault(name); !fault.Empty() { // the file has no line for it yet
		return problem.OfFile("", problem.ServerName, name, fault)
	}
	if d.root == nil {
		d.root = document.Parse([]byte(`{"mcpServers": {}}`), document.FormatJSON, &problem.List{})
	}
	l := layout.Of(d.root, &problem.List{})
	if l == nil {
		return i18n.Errorf("%s has a shape that a server cannot be added to", "%s 的结构无法添加服务器", d.path)
	}
	path, err := d.serversOf(l, schema)
	if err != nil {
		return err
	}
	holder := d.root.At(path)
	if holder != nil && holder.Kind == document.KindArray {
		named := v.With(append([]document.Member{{Key: "name", Value: &document.Node{Kind: document.KindString, Text: name}}}, v.Members...))
		if v.Has("name") {
			named = v
		}
		h := *holder
		h.Items = append(slices.Clip(holder.Items), named)
		d.root = replaceAt(d.root, path, &h)
		return nil
	}
	if holder == nil || holder.Kind != document.KindObject {
		holder = &document.Node{Kind: document.KindObject}
	}
	d.root = replaceAt(d.root, path, holder.With(append(slices.Clip(holder.Members), document.Member{Key: name, Value: v})))
	return nil
}

// RemoveServer removes a server.
func (d *Draft) RemoveServer(schema, name string) error {
	e := d.find(schema, name)
	if e == nil {
		return d.noServer(schema, name)
	}
	d.root = replaceAt(d.root, e.Path, nil)
	return nil
}

// EnableServer switches a server on or off, with the key that the entry uses
// for that.
func (d *Draft) EnableServer(schema, name string, on bool) error {
	e := d.find(schema, name)
	if e == nil {
		return d.noServer(schema, name)
	}
	key, value := "enabled", on
	if e.Value.Has("disabled") && !e.Value.Has("enabled") {
		key, value = "disabled", !on
	}
	d.isUnread(schema, name)
	if d.switched == nil {
		d.switched = map[string]bool{}
	}
	d.switched[cmp.Or(schema, layout.DefaultSchema)+"/"+name] = on
	flag := &document.Node{Kind: document.KindBool, Text: fmt.Sprint(value)}
	d.root = replaceAt(d.root, append(slices.Clip(e.Path), document.KeyStep(key)), flag)
	return nil
}

// Replace replaces the whole content. data is JSON or YAML; a value of
// [REDACTED] keeps the value in the file.
func (d *Draft) Replace(data []byte) error {
	c := &problem.List{}
	text, ok := document.Decode(data, c)
	if !ok {
		return c.Err()
	}
	root := document.Parse(text, document.FormatOf("", text), c)
	if root == nil {
		return c.Err()
	}
	root, err := unredact(root, d.old)
	if err != nil {
		return err
	}
	d.root = root
	return nil
}

// Commands returns the command lines that the draft adds or changes, sorted.
func (d *Draft) Commands() []string {
	lines := []string{}
	before := layout.Below(d.old).ByID()
	for id, n := range layout.Below(d.root).ByID() {
		if line := commandOf(n); line != "" && (before[id] == nil || commandOf(before[id]) != line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// commandOf returns the command line of an entry; empty if it has none.
func commandOf(n *document.Node) string {
	own := layout.OwnServer(n, "", &problem.List{})
	command := own.Get("command")
	if command == nil {
		return ""
	}
	words := []string{command.Text}
	if args := own.Get("args"); args != nil {
		for _, a := range args.Items {
			words = append(words, a.Text)
		}
	}
	return i18n.Command(words...)
}

func (d *Draft) find(schema, name string) *layout.Entry {
	if d.root == nil {
		return nil
	}
	schema = cmp.Or(schema, layout.DefaultSchema)
	l := layout.Of(d.root, &problem.List{})
	if l == nil {
		return nil
	}
	for i, e := range l.Entries {
		if e.Schema == schema && e.Name == name {
			return &l.Entries[i]
		}
	}
	return nil
}

// content returns the new text of the file.
func (d *Draft) content() ([]byte, error) {
	if d.root == nil {
		return nil, i18n.Errorf("%s: nothing to write", "%s：没有可写入的内容", d.path)
	}
	if d.text != nil {
		return d.text, nil
	}
	if d.old == nil {
		return document.Render(d.root, d.format), nil
	}
	return document.Rewrite(d.data, d.format, d.old, d.root)
}

// changed reports whether the file must be written.
func (d *Draft) changed() bool {
	return d.old == nil || !d.old.Equal(d.root) || d.text != nil && !bytes.Equal(d.text, d.data)
}

// onlyServersChanged reports whether everything except the servers is
// unchanged: the shape, the schemas and every other key.
func (d *Draft) onlyServersChanged() bool {
	strip := func(root *document.Node) *document.Node {
		if root == nil {
			return &document.Node{Kind: document.KindObject}
		}
		l := layout.Of(root, &problem.List{})
		if l == nil {
			return root
		}
		for _, entry := range slices.Backward(l.Entries) {
			root = replaceAt(root, entry.Path, nil)
		}
		if d.old == nil && l.Shape != layout.ShapeSchemas {
			root = replaceAt(root, l.Holder, nil)
		}
		return root
	}
	return strip(d.old).Equal(strip(d.root))
}

// replaceAt returns a copy of root with the value at path replaced, added, or
// removed if value is nil.
func replaceAt(root *document.Node, path []document.Step, value *document.Node) *document.Node {
	if len(path) == 0 {
		return value
	}
	c := *root
	s := path[0]
	if !s.IsKey {
		c.Items = slices.Clone(root.Items)
		if child := replaceAt(root.Items[s.Index], path[1:], value); child != nil {
			c.Items[s.Index] = child
		} else {
			c.Items = slices.Delete(c.Items, s.Index, s.Index+1)
		}
		return &c
	}
	c.Members = slices.Clone(root.Members)
	i := slices.IndexFunc(c.Members, func(m document.Member) bool { return m.Key == s.Key })
	if i < 0 {
		if value != nil {
			child := replaceAt(&document.Node{Kind: document.KindObject}, path[1:], value)
			c.Members = append(c.Members, document.Member{Key: s.Key, Value: child})
		}
		return &c
	}
	if child := replaceAt(c.Members[i].Value, path[1:], value); child != nil {
		c.Members[i].Value = child
	} else {
		c.Members = slices.Delete(c.Members, i, i+1)
	}
	return &c
}

// SetValue sets one key of the file outside the servers; null removes it.
func (d *Draft) SetValue(key string, value []byte) error {
	c := &problem.List{File: key}
	n := document.Parse(value, document.FormatJSON, c)
	if n == nil {
		return c.Err()
	}
	if string(bytes.TrimSpace(value)) == "null" {
		n = nil
	}
	var path []document.Step
	for part := range strings.SplitSeq(key, ".") {
		path = append(path, document.KeyStep(part))
	}
	d.root = replaceAt(d.root, path, n)
	return nil
}
