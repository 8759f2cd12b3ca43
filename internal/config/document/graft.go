package document

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"mcp-all-in-one/internal/config/problem"
)

// Without removes some top-level keys from a file and keeps the rest of the
// text. It returns nil if nothing is left.
func Without(data []byte, format Format, keys []string) ([]byte, error) {
	c := &problem.List{}
	root := Parse(bytes.TrimPrefix(data, BOM), format, c)
	if root == nil {
		return nil, c.Err()
	}
	rest := root.With(slices.DeleteFunc(slices.Clone(root.Members), func(m Member) bool { return slices.Contains(keys, m.Key) }))
	if len(rest.Members) == 0 {
		return nil, nil
	}
	return Rewrite(data, format, root, rest)
}

// Graft replaces the values of some top-level keys by those of another file of
// the same format, with their comments there.
func Graft(data, other []byte, format Format, keys []string) ([]byte, error) {
	data, err := Without(data, format, keys)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return other, nil
	}
	c := &problem.List{}
	root, from := Parse(bytes.TrimPrefix(data, BOM), format, c), Parse(bytes.TrimPrefix(other, BOM), format, c)
	if root == nil || from == nil {
		return nil, c.Err()
	}
	members := slices.DeleteFunc(slices.Clone(from.Members), func(m Member) bool { return !slices.Contains(keys, m.Key) })
	to := root.With(append(slices.Clip(root.Members), members...))
	plain, err := Rewrite(data, format, root, to)
	if err != nil || len(members) == 0 {
		return plain, err
	}
	if braced(plain) != braced(other) {
		return plain, nil
	}
	out := plain
	if format == FormatYAML && !braced(plain) {
		out = graftYAML(plain, other, members)
	} else {
		out = graftJSON(plain, other, members)
	}
	if got := Parse(bytes.TrimPrefix(out, BOM), format, &problem.List{}); got == nil || !got.Equal(to) {
		return plain, nil // without the comments
	}
	return LikeBefore(data, out), nil
}

func braced(data []byte) bool {
	return FormatOf("", bytes.TrimPrefix(data, BOM)) == FormatJSON
}

// graftJSON copies the text of members from another file.
func graftJSON(data, other []byte, members []Member) []byte {
	into, err := hujson.Parse(bytes.TrimPrefix(data, BOM))
	if err != nil {
		return data
	}
	from, err := hujson.Parse(bytes.TrimPrefix(other, BOM))
	if err != nil {
		return data
	}
	to, of := into.Value.(*hujson.Object), from.Value.(*hujson.Object)
	for _, m := range members {
		target, source := &to.Members[memberIndex(to, m.Key)], of.Members[memberIndex(of, m.Key)]
		target.Value.Value = source.Value.Value
		before := string(target.Name.BeforeExtra)
		if i := strings.LastIndexByte(before, '\n'); i >= 0 {
			target.Name.BeforeExtra = hujson.Extra(before[:i] + ownComments(string(source.Name.BeforeExtra)) + before[i:])
		}
	}
	return into.Pack()
}

// ownComments returns the comments on the lines directly above a member.
func ownComments(before string) string {
	lines := strings.Split(before, "\n")
	if len(lines) < 2 {
		return ""
	}
	lines = lines[1 : len(lines)-1] // without the rest of the previous member's line and the member's own indentation
	first := len(lines)
	for first > 0 && strings.TrimSpace(lines[first-1]) != "" {
		first--
	}
	if first == len(lines) {
		return ""
	}
	return "\n" + strings.Join(lines[first:], "\n")
}

// graftYAML copies the lines of members from another file.
func graftYAML(data, other []byte, members []Member) []byte {
	lines := func(text []byte) *yamlEditor {
		return &yamlEditor{lines: strings.Split(strings.ReplaceAll(string(bytes.TrimPrefix(text, BOM)), "\r\n", "\n"), "\n")}
	}
	from := lines(other)
	for _, m := range members {
		into := lines(data)
		root := Parse(bytes.TrimPrefix(data, BOM), FormatYAML, &problem.List{})
		if root == nil {
			return data
		}
		at, _ := into.itemPlace(root, KeyStep(m.Key))
		start, own := at.Line-1, m.Line-1
		text := from.lines[own:from.blockEnd(own, m.Col-1, false)]
		data = []byte(strings.Join(slices.Replace(into.lines, start, into.blockEnd(start, at.Col-1, false), text...), "\n"))
	}
	return data
}
