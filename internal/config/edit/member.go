package edit

import (
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// SetMember sets the value at a path of keys in a file of any program to a JSON
// value, or removes it if value is nil. Comments and layout are kept. List
// items that are objects with a name are identified by it.
func SetMember(data []byte, format document.Format, value []byte, path ...string) ([]byte, error) {
	c := &problem.List{}
	before, root := data, &document.Node{Kind: document.KindObject}
	if text, ok := document.Decode(data, &problem.List{}); ok {
		data = text
		if root = document.Parse(text, format, c); root == nil {
			return nil, c.Err()
		}
	} else if len(data) > 0 {
		if _, ok := document.Decode(data, c); !ok && len(c.Problems) > 0 && c.Problems[0].Code != problem.Empty {
			return nil, c.Err()
		}
		data = nil
	}
	if root.Kind != document.KindObject {
		return nil, i18n.Errorf("the file holds %s, not an object", "文件的内容是%s，而不是对象", root.Kind)
	}
	var v *document.Node
	if value != nil {
		if v = document.Parse(value, document.FormatJSON, c); v == nil {
			return nil, c.Err()
		}
	}
	steps := make([]document.Step, len(path))
	for i, key := range path {
		steps[i] = document.KeyStep(key)
	}
	next := replaceAt(root, steps, v)
	if len(data) == 0 {
		return document.Render(next, format), nil
	}
	after, err := document.Rewrite(data, format, root, next)
	if err != nil {
		return nil, err
	}
	return document.LikeBefore(before, after), nil
}
