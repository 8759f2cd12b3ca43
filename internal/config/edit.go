package config

import (
	"bytes"
	"slices"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// errInPlace is a file that cannot be edited without losing what a person
// wrote into it.
var errInPlace = i18n.Errorf("this file cannot be changed in place without losing comments or layout: change it by hand", "无法在保留注释与排版的情况下修改此文件：请手动修改")

// edit is one change of a file: the value at path is set, or removed when
// value is nil. An insert appends to the object or list that holds it.
type edit struct {
	path   []step
	value  *node
	insert bool
}

// editsBetween returns the smallest changes that turn one value into another.
func editsBetween(path []step, from, to *node) []edit {
	if from.equal(to) {
		return nil
	}
	switch {
	case from.kind == kindObject && to.kind == kindObject:
		return objectEdits(path, from, to)
	case from.kind == kindArray && to.kind == kindArray:
		if edits, ok := listEdits(path, from, to); ok {
			return edits
		}
	}
	return []edit{{path: path, value: to}}
}

func objectEdits(path []step, from, to *node) []edit {
	var edits []edit
	wanted := make(map[string]*node, len(to.members))
	for _, m := range to.members {
		wanted[m.key] = m.value
	}
	there := make(map[string]bool, len(from.members))
	for _, m := range from.members {
		there[m.key] = true
		child := append(slices.Clip(path), keyStep(m.key))
		if v := wanted[m.key]; v != nil {
			edits = append(edits, editsBetween(child, m.value, v)...)
		} else {
			edits = append(edits, edit{path: child})
		}
	}
	for _, m := range to.members {
		if !there[m.key] {
			edits = append(edits, edit{path: append(slices.Clip(path), keyStep(m.key)), value: m.value, insert: true})
		}
	}
	return edits
}

// listEdits edits a list whose items say their name, when items only changed,
// went or were appended; false when the list must be written anew.
func listEdits(path []step, from, to *node) ([]edit, bool) {
	var edits []edit
	next := 0
	for i, item := range from.items {
		child := append(slices.Clip(path), indexStep(i))
		name := itemName(item)
		if name == "" {
			return nil, false
		}
		if next < len(to.items) && itemName(to.items[next]) == name {
			edits = append(edits, editsBetween(child, item, to.items[next])...)
			next++
			continue
		}
		if slices.ContainsFunc(to.items, func(n *node) bool { return itemName(n) == name }) {
			return nil, false // the order changed
		}
		edits = append(edits, edit{path: child})
	}
	for i := next; i < len(to.items); i++ {
		edits = append(edits, edit{path: append(slices.Clip(path), indexStep(len(from.items)+i-next)), value: to.items[i], insert: true})
	}
	return edits, true
}

func itemName(n *node) string {
	if v := n.get("name"); v != nil {
		return v.text
	}
	return ""
}

// rewrite returns data changed so that it holds to, with everything else of
// it as it was.
func rewrite(data []byte, format Format, from, to *node) ([]byte, error) {
	edits := editsBetween(nil, from, to)
	if len(edits) == 0 {
		return data, nil
	}
	var out []byte
	var err error
	if format == FormatYAML {
		out, err = editYAML(data, from, to, edits)
	} else {
		out, err = editJSON(data, edits)
	}
	if err != nil {
		return nil, err
	}
	// What people wrote is not worth a guess: the result is read back.
	if got := parse(bytes.TrimPrefix(out, bom), format, &problem.List{}); got == nil || !got.equal(to) {
		return nil, errInPlace
	}
	return LikeBefore(data, out), nil
}

var bom = []byte("\xEF\xBB\xBF")

// LikeBefore gives an edited text the byte order mark and the line breaks of
// the text before, as far as those were all of one kind.
func LikeBefore(before, after []byte) []byte {
	lf, crlf := []byte("\n"), []byte("\r\n")
	if n := bytes.Count(before, lf); n > 0 && n == bytes.Count(before, crlf) {
		after = bytes.ReplaceAll(bytes.ReplaceAll(after, crlf, lf), lf, crlf)
	}
	if bytes.HasPrefix(before, bom) && !bytes.HasPrefix(after, bom) {
		after = slices.Concat(bom, after)
	}
	return after
}

// render writes a whole file that did not exist before.
func render(n *node, format Format) []byte {
	if format == FormatYAML {
		return appendYAML(nil, n, 0)
	}
	return append(n.appendJSON(nil, "", "  "), '\n')
}
