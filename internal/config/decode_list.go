package config

import (
	"reflect"
	"strconv"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// list fills a slice. It refuses a string, because splitting it would be
// guessing.
func (d *decoder) list(n *document.Node, v reflect.Value, f field, path string) {
	if n.Kind != document.KindArray {
		d.mistyped(n, path, document.KindArray, f.typ)
		return
	}
	out := reflect.MakeSlice(f.typ, 0, len(n.Items))
	for i, item := range n.Items {
		elem := reflect.New(f.typ.Elem()).Elem()
		child := path + "[" + strconv.Itoa(i) + "]"
		if f.typ.Elem().Kind() == reflect.String {
			s, ok := d.scalar(item, child)
			if !ok {
				continue
			}
			elem.SetString(s)
		} else {
			setDefaults(elem)
			d.object(item, elem, child)
		}
		out = reflect.Append(out, elem)
	}
	v.Set(out)
}

// table fills a map.
func (d *decoder) table(n *document.Node, v reflect.Value, f field, path string) {
	if n.Kind != document.KindObject {
		d.mistyped(n, path, document.KindObject, f.typ)
		return
	}
	out := reflect.MakeMapWithSize(f.typ, len(n.Members))
	for _, m := range n.Members {
		elem := reflect.New(f.typ.Elem()).Elem()
		child := document.Join(path, m.Key)
		switch {
		case f.typ.Elem().Kind() == reflect.String:
			s, ok := d.scalar(m.Value, child)
			if !ok {
				continue
			}
			elem.SetString(s)
		case f.typ.Elem() == typeRaw:
			elem.SetBytes(m.Value.AppendJSON(nil, "", ""))
		default:
			d.policy(m.Value, elem, child)
		}
		out.SetMapIndex(reflect.ValueOf(m.Key), elem)
	}
	v.Set(out)
}

// policy fills one policy; true and false are short for its key enabled.
func (d *decoder) policy(n *document.Node, v reflect.Value, path string) {
	if enabled := v.FieldByName("Enabled"); n.Kind == document.KindBool && enabled.IsValid() {
		on := n.Text == "true"
		enabled.Set(reflect.ValueOf(&on))
		return
	}
	d.object(n, v, path)
}

// inherit reads "all" or a list of names.
func (d *decoder) inherit(n *document.Node, v reflect.Value, path string) {
	var out Inherit
	switch {
	case n.Kind == document.KindString && n.Text == "all":
		out.All = true
	case n.Kind == document.KindArray:
		d.list(n, reflect.ValueOf(&out.Names).Elem(), field{typ: reflect.TypeFor[[]string]()}, path)
	default:
		d.report(n, path, problem.WrongType, i18n.New(`a list of names or "all"`, `名称数组或 "all"`), n.Kind)
		return
	}
	v.Set(reflect.ValueOf(out))
}
