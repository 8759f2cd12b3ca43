package document

import (
	"bytes"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// editJSON applies edits to a JSON file and keeps every other byte.
func editJSON(data []byte, edits []edit) ([]byte, error) {
	mark := data[:len(data)-len(bytes.TrimPrefix(data, BOM))]
	root, err := hujson.Parse(slices.Clone(data[len(mark):]))
	if err != nil {
		return nil, err
	}
	j := jsonEditor{root: &root, unit: indentUnit(data)}
	// Removing an item shifts the items after it, so the last item is removed
	// first.
	ordered := slices.Clone(edits)
	sort.SliceStable(ordered, func(i, j int) bool { return removalOrder(ordered[i]) > removalOrder(ordered[j]) })
	for _, e := range ordered {
		if err := j.apply(e); err != nil {
			return nil, err
		}
	}
	return append(slices.Clone(mark), root.Pack()...), nil
}

// removalOrder sorts the removal of list items last, from the end of the list.
func removalOrder(e edit) int {
	if n := len(e.path); e.value == nil && n > 0 && !e.path[n-1].IsKey {
		return e.path[n-1].Index - 1<<30
	}
	return 1
}

type jsonEditor struct {
	root *hujson.Value
	unit string // one level of indentation
}

func (j *jsonEditor) apply(e edit) error {
	if len(e.path) == 0 {
		j.root.Value = j.build(e.value, "", true)
		return nil
	}
	last := e.path[len(e.path)-1]
	parent, indent := j.find(e.path[:len(e.path)-1])
	switch p := parent.(type) {
	case *hujson.Object:
		return j.inObject(p, last.Key, indent, e)
	case *hujson.Array:
		return j.inArray(p, last.Index, indent, e)
	}
	return ErrInPlace
}

// find returns the value at path and the indentation of its first line.
func (j *jsonEditor) find(path []Step) (hujson.ValueTrimmed, string) {
	v, indent := j.root.Value, ""
	for _, s := range path {
		switch p := v.(type) {
		case *hujson.Object:
			i := memberIndex(p, s.Key)
			if i < 0 {
				return nil, ""
			}
			if in, ok := lineIndent(p.Members[i].Name.BeforeExtra); ok {
				indent = in
			}
			v = p.Members[i].Value.Value
		case *hujson.Array:
			if s.Index >= len(p.Elements) {
				return nil, ""
			}
			if in, ok := lineIndent(p.Elements[s.Index].BeforeExtra); ok {
				indent = in
			}
			v = p.Elements[s.Index].Value
		default:
			return nil, ""
		}
	}
	return v, indent
}

func memberIndex(o *hujson.Object, key string) int {
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool {
		return m.Name.Value.(hujson.Literal).String() == key
	})
}

func (j *jsonEditor) inObject(o *hujson.Object, key, indent string, e edit) error {
	i := memberIndex(o, key)
	if e.value == nil {
		hadComma := len(o.Members) > 0 && o.Members[len(o.Members)-1].Value.AfterExtra != nil
		if err := j.remove(e.path); err != nil {
			return err
		}
		if n := len(o.Members); n > 0 {
			o.AfterExtra = settleComma(&o.Members[n-1].Value, o.AfterExtra, hadComma)
		}
		return nil
	}
	if i >= 0 {
		own, multi := lineIndent(o.Members[i].Name.BeforeExtra)
		if !multi {
			own = indent
		}
		o.Members[i].Value.Value = j.build(e.value, own, multi)
		return nil
	}
	var last *hujson.Value
	var before hujson.Extra
	if n := len(o.Members); n > 0 {
		last, before = &o.Members[n-1].Value, o.Members[n-1].Name.BeforeExtra
	}
	lead, own, multi, after := j.appendPlace(before, o.AfterExtra, indent, last != nil)
	m := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: lead, Value: hujson.Literal(Quote(key))},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: j.build(e.value, own, multi)},
	}
	if last != nil && last.AfterExtra != nil {
		m.Value.AfterExtra = hujson.Extra{}
	}
	o.Members, o.AfterExtra = append(o.Members, m), after
	return nil
}

func (j *jsonEditor) inArray(a *hujson.Array, index int, indent string, e edit) error {
	switch {
	case e.value == nil:
		hadComma := len(a.Elements) > 0 && a.Elements[len(a.Elements)-1].AfterExtra != nil
		if err := j.remove(e.path); err != nil {
			return err
		}
		if n := len(a.Elements); n > 0 {
			a.AfterExtra = settleComma(&a.Elements[n-1], a.AfterExtra, hadComma)
		}
	case !e.insert:
		own, multi := lineIndent(a.Elements[index].BeforeExtra)
		a.Elements[index].Value = j.build(e.value, own, multi)
	default:
		var last *hujson.Value
		var before hujson.Extra
		if n := len(a.Elements); n > 0 {
			last, before = &a.Elements[n-1], a.Elements[n-1].BeforeExtra
		}
		lead, own, multi, after := j.appendPlace(before, a.AfterExtra, indent, last != nil)
		v := hujson.Value{BeforeExtra: lead, Value: j.build(e.value, own, multi)}
		if last != nil && last.AfterExtra != nil {
			v.AfterExtra = hujson.Extra{}
		}
		a.Elements, a.AfterExtra = append(a.Elements, v), after
	}
	return nil
}

// remove removes a member or item together with its own comments.
func (j *jsonEditor) remove(path []Step) error {
	var pointer strings.Builder
	for _, s := range path {
		key := strconv.Itoa(s.Index)
		if s.IsKey {
			key = strings.NewReplacer("~", "~0", "/", "~1").Replace(s.Key)
		}
		pointer.WriteString("/" + key)
	}
	return j.root.Patch([]byte(`[{"op": "remove", "path": ` + string(Quote(pointer.String())) + `}]`))
}

// settleComma keeps a trailing comma if there was one, and adds none otherwise.
func settleComma(last *hujson.Value, after hujson.Extra, comma bool) hujson.Extra {
	switch {
	case comma && last.AfterExtra == nil:
		last.AfterExtra = hujson.Extra{}
	case !comma && last.AfterExtra != nil:
		after = append(slices.Clone(last.AfterExtra), after...)
		last.AfterExtra = nil
	}
	return after
}
