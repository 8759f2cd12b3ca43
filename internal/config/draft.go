package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// Draft is a file being changed.
type Draft struct {
	path   string
	format Format
	data   []byte
	mode   fs.FileMode
	old    *node // nil: there is no file yet
	root   *node
	unread map[string]bool // ids of servers that were changed by somebody who has not read them
	// proposed are the ids of servers that wait for approval even if a person writes them.
	proposed map[string]bool
}

// Entry returns the entry of a server as JSON, as it is written; nil when
// there is none.
func (d *Draft) Entry(schema, name string) []byte {
	e := d.find(schema, name)
	if e == nil {
		return nil
	}
	return e.value.appendJSON(nil, "", "  ")
}

// SetServer adds a server, or changes the one of that name. entry is a JSON
// object; a value of [REDACTED] keeps what the file has there.
func (d *Draft) SetServer(schema, name string, entry []byte) error {
	c := &problem.List{File: name}
	v := parse(entry, FormatJSON, c)
	if v == nil {
		return c.Err()
	}
	if e := d.find(schema, name); e != nil {
		if itemName(e.value) != "" && !e.path[len(e.path)-1].isKey && !v.has("name") {
			v = v.with(append([]member{{key: "name", value: e.value.get("name")}}, v.members...))
		}
		var err error
		if v, err = unredact(v, e.value); err != nil {
			return err
		}
		d.root = replaceAt(d.root, e.path, v)
		return nil
	}
	if _, err := unredact(v, nil); err != nil {
		return err
	}
	return d.addServer(schema, name, v)
}

// ChangeServer is SetServer for a change that is made to an entry nobody has
// read for it: one that waits for approval goes on waiting.
func (d *Draft) ChangeServer(schema, name string, entry []byte) error {
	d.isUnread(schema, name)
	return d.SetServer(schema, name, entry)
}

// ProposeServer is SetServer for an entry that no person has written or read: it
// waits for approval.
func (d *Draft) ProposeServer(schema, name string, entry []byte) error {
	if d.proposed == nil {
		d.proposed = map[string]bool{}
	}
	d.proposed[cmp.Or(schema, DefaultSchema)+"/"+name] = true
	return d.SetServer(schema, name, entry)
}

func (d *Draft) isUnread(schema, name string) {
	if schema == "" {
		schema = DefaultSchema
	}
	if d.unread == nil {
		d.unread = map[string]bool{}
	}
	d.unread[schema+"/"+name] = true
}

// addServer puts a new entry behind the others.
func (d *Draft) addServer(schema, name string, v *node) error {
	if d.root == nil {
		d.root = parse([]byte(`{"mcpServers": {}}`), FormatJSON, &problem.List{})
	}
	l := takeApart(d.root, &problem.List{})
	if l == nil {
		return i18n.Errorf("%s has a shape that a server cannot be added to", "%s 的结构无法添加服务", d.path)
	}
	path, err := d.serversOf(l, schema)
	if err != nil {
		return err
	}
	holder := d.root.at(path)
	if holder != nil && holder.kind == kindArray {
		named := v.with(append([]member{{key: "name", value: &node{kind: kindString, text: name}}}, v.members...))
		if v.has("name") {
			named = v
		}
		h := *holder
		h.items = append(slices.Clip(holder.items), named)
		d.root = replaceAt(d.root, path, &h)
		return nil
	}
	if holder == nil || holder.kind != kindObject {
		holder = &node{kind: kindObject}
	}
	d.root = replaceAt(d.root, path, holder.with(append(slices.Clip(holder.members), member{key: name, value: v})))
	return nil
}

// RemoveServer removes a server.
func (d *Draft) RemoveServer(schema, name string) error {
	e := d.find(schema, name)
	if e == nil {
		return d.noServer(schema, name)
	}
	d.root = replaceAt(d.root, e.path, nil)
	return nil
}

// EnableServer switches a server on or off, by the key that the entry uses
// for that.
func (d *Draft) EnableServer(schema, name string, on bool) error {
	e := d.find(schema, name)
	if e == nil {
		return d.noServer(schema, name)
	}
	key, value := "enabled", on
	if e.value.has("disabled") && !e.value.has("enabled") {
		key, value = "disabled", !on
	}
	d.isUnread(schema, name)
	flag := &node{kind: kindBool, text: fmt.Sprint(value)}
	d.root = replaceAt(d.root, append(slices.Clip(e.path), keyStep(key)), flag)
	return nil
}

// Replace replaces the whole content. data is JSON or YAML; a value of
// [REDACTED] keeps what the file has there.
func (d *Draft) Replace(data []byte) error {
	c := &problem.List{}
	text, ok := decodeText(data, c)
	if !ok {
		return c.Err()
	}
	root := parse(text, formatOf("", text), c)
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

func (d *Draft) find(schema, name string) *entry {
	if d.root == nil {
		return nil
	}
	if schema == "" {
		schema = DefaultSchema
	}
	l := takeApart(d.root, &problem.List{})
	if l == nil {
		return nil
	}
	for i, e := range l.entries {
		if e.schema == schema && e.name == name {
			return &l.entries[i]
		}
	}
	return nil
}

// content renders the draft.
func (d *Draft) content() ([]byte, error) {
	if d.root == nil {
		return nil, i18n.Errorf("%s: nothing to write", "%s：没有可写入的内容", d.path)
	}
	if d.old == nil {
		return render(d.root, d.format), nil
	}
	return rewrite(d.data, d.format, d.old, d.root)
}

// onlyServersChanged reports whether everything beside the servers is as it
// was: the shape, the schemas and every other key.
func (d *Draft) onlyServersChanged() bool {
	strip := func(root *node) *node {
		if root == nil {
			return &node{kind: kindObject}
		}
		l := takeApart(root, &problem.List{})
		if l == nil {
			return root
		}
		for i := len(l.entries) - 1; i >= 0; i-- {
			root = replaceAt(root, l.entries[i].path, nil)
		}
		if d.old == nil && l.shape != ShapeSchemas {
			root = replaceAt(root, l.holder, nil)
		}
		return root
	}
	return strip(d.old).equal(strip(d.root))
}

// replaceAt returns root with the value at path replaced, added, or removed
// when value is nil; root itself stays as it is.
func replaceAt(root *node, path []step, value *node) *node {
	if len(path) == 0 {
		return value
	}
	c := *root
	s := path[0]
	if !s.isKey {
		c.items = slices.Clone(root.items)
		if child := replaceAt(root.items[s.index], path[1:], value); child != nil {
			c.items[s.index] = child
		} else {
			c.items = slices.Delete(c.items, s.index, s.index+1)
		}
		return &c
	}
	c.members = slices.Clone(root.members)
	i := slices.IndexFunc(c.members, func(m member) bool { return m.key == s.key })
	if i < 0 {
		if value != nil {
			child := replaceAt(&node{kind: kindObject}, path[1:], value)
			c.members = append(c.members, member{key: s.key, value: child})
		}
		return &c
	}
	if child := replaceAt(c.members[i].value, path[1:], value); child != nil {
		c.members[i].value = child
	} else {
		c.members = slices.Delete(c.members, i, i+1)
	}
	return &c
}
