package document

import (
	"bytes"
	"slices"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// ErrInPlace means that a file cannot be edited without losing its comments or
// layout.
var ErrInPlace = i18n.Errorf("this file cannot be changed in place without losing comments or layout: change it by hand", "无法在保留注释与排版的情况下修改此文件：请手动修改")

// edit is one change of a file: it sets the value at path, or removes it if
// value is nil. With insert it appends to the object or list at the parent
// path.
type edit struct {
	path   []Step
	value  *Node
	insert bool
}

// editsBetween returns the smallest changes that turn one value into another.
func editsBetween(path []Step, from, to *Node) []edit {
	if from.Equal(to) {
		return nil
	}
	switch {
	case from.Kind == KindObject && to.Kind == KindObject:
		return objectEdits(path, from, to)
	case from.Kind == KindArray && to.Kind == KindArray:
		if edits, ok := listEdits(path, from, to); ok {
			return edits
		}
	}
	return []edit{{path: path, value: to}}
}

func objectEdits(path []Step, from, to *Node) []edit {
	var edits []edit
	wanted := make(map[string]*Node, len(to.Members))
	for _, m := range to.Members {
		wanted[m.Key] = m.Value
	}
	there := make(map[string]bool, len(from.Members))
	for _, m := range from.Members {
		there[m.Key] = true
		child := append(slices.Clip(path), KeyStep(m.Key))
		if v := wanted[m.Key]; v != nil {
			edits = append(edits, editsBetween(child, m.Value, v)...)
		} else {
			edits = append(edits, edit{path: child})
		}
	}
	for _, m := range to.Members {
		if !there[m.Key] {
			edits = append(edits, edit{path: append(slices.Clip(path), KeyStep(m.Key)), value: m.Value, insert: true})
		}
	}
	return edits
}

// listEdits edits a list whose items have names, if items only changed, were
// removed or were appended. It returns false if the whole list must be
// rewritten.
func listEdits(path []Step, from, to *Node) ([]edit, bool) {
	var edits []edit
	next := 0
	for i, item := range from.Items {
		child := append(slices.Clip(path), IndexStep(i))
		name := ItemName(item)
		if name == "" {
			return nil, false
		}
		if next < len(to.Items) && ItemName(to.Items[next]) == name {
			edits = append(edits, editsBetween(child, item, to.Items[next])...)
			next++
			continue
		}
		if slices.ContainsFunc(to.Items, func(n *Node) bool { return ItemName(n) == name }) {
			return nil, false // the order changed
		}
		edits = append(edits, edit{path: child})
	}
	for i := next; i < len(to.Items); i++ {
		edits = append(edits, edit{path: append(slices.Clip(path), IndexStep(len(from.Items)+i-next)), value: to.Items[i], insert: true})
	}
	return edits, true
}

// ItemName returns the name of a list item, or "" if it has none.
func ItemName(n *Node) string {
	if v := n.Get("name"); v != nil {
		return v.Text
	}
	return ""
}

// Rewrite changes data from the value from to the value to, and keeps the rest
// of the text.
func Rewrite(data []byte, format Format, from, to *Node) ([]byte, error) {
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
	// The text of a person must not be damaged, so the result is parsed again.
	if got := Parse(bytes.TrimPrefix(out, BOM), format, &problem.List{}); got == nil || !got.Equal(to) {
		return nil, ErrInPlace
	}
	return LikeBefore(data, out), nil
}

// BOM is the byte order mark of UTF-8.
var BOM = []byte("\xEF\xBB\xBF")

// LikeBefore gives an edited text the byte order mark and the line breaks of
// the text before it. Line breaks change only if the old ones are all of one
// kind.
func LikeBefore(before, after []byte) []byte {
	lf, crlf := []byte("\n"), []byte("\r\n")
	if n := bytes.Count(before, lf); n > 0 && n == bytes.Count(before, crlf) {
		after = bytes.ReplaceAll(bytes.ReplaceAll(after, crlf, lf), lf, crlf)
	}
	if bytes.HasPrefix(before, BOM) && !bytes.HasPrefix(after, BOM) {
		after = slices.Concat(BOM, after)
	}
	return after
}

// Render returns the text of a new file.
func Render(n *Node, format Format) []byte {
	if format == FormatYAML {
		return appendYAML(nil, n, 0)
	}
	return append(n.AppendJSON(nil, "", "  "), '\n')
}
