package document

import (
	"bytes"
	"slices"
	"sort"
	"strings"
)

// editYAML applies edits to a YAML file in block style. It replaces whole
// lines, or the only scalar of a line, and keeps every other line. If an edit
// cannot be made that way, it replaces the parent value, and refuses the edit
// at the root.
func editYAML(data []byte, from, to *Node, edits []edit) ([]byte, error) {
	body := bytes.TrimPrefix(data, BOM)
	mark := slices.Clone(data[:len(data)-len(body)])
	crlf := bytes.Contains(data, []byte("\r\n"))
	text := strings.ReplaceAll(string(body), "\r\n", "\n")
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		out, err := editJSON(data, edits) // JSON is also YAML
		if err != nil {
			return nil, ErrInPlace
		}
		return out, nil
	}
	y := &yamlEditor{from: from, to: to, lines: strings.Split(text, "\n")}
	for _, e := range edits {
		if err := y.plan(e); err != nil {
			return nil, err
		}
	}
	out := strings.Join(y.apply(), "\n")
	if crlf {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	return append(mark, out...), nil
}

// splice replaces lines[from:to] with the new text of the value at path.
type splice struct {
	from, to int
	lines    []string
	path     []Step
}

type yamlEditor struct {
	from, to *Node
	lines    []string
	splices  []splice
	whole    [][]Step // values that are replaced as a whole
}

// apply executes the splices, the last first, so that the line numbers of the
// others stay valid.
func (y *yamlEditor) apply() []string {
	lines := y.lines
	order := slices.Clone(y.splices)
	slices.Reverse(order) // splices at the same line keep their order
	sort.SliceStable(order, func(i, j int) bool { return order[i].from > order[j].from })
	for _, s := range order {
		lines = slices.Replace(slices.Clone(lines), s.from, s.to, s.lines...)
	}
	return lines
}

// plan turns one edit into a splice.
func (y *yamlEditor) plan(e edit) error {
	if len(e.path) == 0 {
		return ErrInPlace
	}
	for _, w := range y.whole {
		if hasPrefix(e.path, w) {
			return nil
		}
	}
	last := e.path[len(e.path)-1]
	parent := y.from.At(e.path[:len(e.path)-1])
	if parent == nil || !y.isBlock(parent) {
		return y.planAbove(e)
	}
	if e.insert {
		return y.planInsert(parent, last, e)
	}
	at, shared := y.itemPlace(parent, last)
	start := at.Line - 1
	end := y.blockEnd(start, at.Col-1, !last.IsKey)
	switch {
	case e.value != nil && y.replaceScalar(parent.At([]Step{last}), e):
	case shared:
		return y.planAbove(e) // "- name: x": the key shares its line with the dash
	case e.value == nil && y.emptied(e.path[:len(e.path)-1]):
		return y.planAbove(e) // an empty parent would have no text that shows its kind
	case e.value == nil:
		y.splices = append(y.splices, splice{start, end, nil, e.path})
	default:
		y.splices = append(y.splices, splice{start, end, y.itemLines(last, e.value, at.Col-1), e.path})
	}
	return nil
}

// planAbove replaces the whole parent value of the edit, including every other
// edit inside it.
func (y *yamlEditor) planAbove(e edit) error {
	path := e.path[:len(e.path)-1]
	value := y.counterpart(path)
	if len(path) == 0 || value == nil {
		return ErrInPlace
	}
	y.splices = slices.DeleteFunc(y.splices, func(s splice) bool { return hasPrefix(s.path, path) })
	err := y.plan(edit{path: path, value: value})
	y.whole = append(y.whole, path)
	return err
}

// emptied reports whether the object or list at path becomes empty.
func (y *yamlEditor) emptied(path []Step) bool {
	to := y.counterpart(path)
	return to == nil || len(to.Members)+len(to.Items) == 0
}

func hasPrefix(path, prefix []Step) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// counterpart returns the new value for path, or nil if the value is removed.
func (y *yamlEditor) counterpart(path []Step) *Node {
	from, to := y.from, y.to
	for _, s := range path {
		from = from.At([]Step{s})
		if s.IsKey {
			to = to.Get(s.Key)
		} else {
			i := slices.IndexFunc(to.Items, func(n *Node) bool { return from != nil && ItemName(n) == ItemName(from) })
			if i < 0 {
				return nil
			}
			to = to.Items[i]
		}
		if from == nil || to == nil {
			return nil
		}
	}
	return to
}

func (y *yamlEditor) planInsert(parent *Node, last Step, e edit) error {
	if len(parent.Members)+len(parent.Items) == 0 {
		return y.planAbove(e)
	}
	var sibling Step
	if last.IsKey {
		sibling = KeyStep(parent.Members[len(parent.Members)-1].Key)
	} else {
		sibling = IndexStep(len(parent.Items) - 1)
	}
	at, _ := y.itemPlace(parent, sibling)
	end := y.blockEnd(at.Line-1, at.Col-1, !last.IsKey)
	y.splices = append(y.splices, splice{end, end, y.itemLines(last, e.value, at.Col-1), e.path})
	return nil
}
