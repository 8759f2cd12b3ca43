package config

import (
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// SetMember returns a file of any program with the value at a path of keys set
// to a JSON value, or taken out when value is nil. Comments and layout stay.
// Of a list the items that are objects with a name are told apart by it.
func SetMember(data []byte, format Format, value []byte, path ...string) ([]byte, error) {
	c := &problem.List{}
	before, root := data, &node{kind: kindObject}
	if text, ok := decodeText(data, &problem.List{}); ok {
		data = text
		if root = parse(text, format, c); root == nil {
			return nil, c.Err()
		}
	} else if len(data) > 0 {
		if _, ok := decodeText(data, c); !ok && len(c.Problems) > 0 && c.Problems[0].Code != problem.Empty {
			return nil, c.Err()
		}
		data = nil
	}
	if root.kind != kindObject {
		return nil, i18n.Errorf("the file holds %s, not an object", "文件的内容是%s，而不是对象", root.kind)
	}
	var v *node
	if value != nil {
		if v = parse(value, FormatJSON, c); v == nil {
			return nil, c.Err()
		}
	}
	steps := make([]step, len(path))
	for i, key := range path {
		steps[i] = keyStep(key)
	}
	next := replaceAt(root, steps, v)
	if len(data) == 0 {
		return render(next, format), nil
	}
	after, err := rewrite(data, format, root, next)
	if err != nil {
		return nil, err
	}
	return LikeBefore(before, after), nil
}
