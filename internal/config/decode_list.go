package config

import (
	"reflect"
	"strconv"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// list fills a slice. A string is not a list of one: splitting it would be
// guessing.
func (d *decoder) list(n *node, v reflect.Value, f field, path string) {
	if n.kind != kindArray {
		d.report(n, path, problem.WrongType, kindArray, n.kind)
		return
	}
	out := reflect.MakeSlice(f.typ, 0, len(n.items))
	for i, item := range n.items {
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

// table fills a map by name.
func (d *decoder) table(n *node, v reflect.Value, f field, path string) {
	if n.kind != kindObject {
		d.report(n, path, problem.WrongType, kindObject, n.kind)
		return
	}
	out := reflect.MakeMapWithSize(f.typ, len(n.members))
	for _, m := range n.members {
		elem := reflect.New(f.typ.Elem()).Elem()
		child := join(path, m.key)
		switch {
		case f.typ.Elem() == typeSecret:
			s, ok := d.scalar(m.value, child)
			if !ok {
				continue
			}
			elem.SetString(s)
		case f.typ.Elem() == typeRaw:
			elem.SetBytes(m.value.appendJSON(nil, "", ""))
		default:
			d.policy(m.value, elem, child)
		}
		out.SetMapIndex(reflect.ValueOf(m.key), elem)
	}
	v.Set(out)
}

// policy fills one policy; true and false are short for its enabled.
func (d *decoder) policy(n *node, v reflect.Value, path string) {
	if n.kind == kindBool {
		on := n.text == "true"
		v.FieldByName("Enabled").Set(reflect.ValueOf(&on))
		return
	}
	d.object(n, v, path)
}

// inherit reads "all" or a list of names.
func (d *decoder) inherit(n *node, v reflect.Value, path string) {
	var out Inherit
	switch {
	case n.kind == kindString && n.text == "all":
		out.All = true
	case n.kind == kindArray:
		d.list(n, reflect.ValueOf(&out.Names).Elem(), field{typ: reflect.TypeFor[[]string]()}, path)
	default:
		d.report(n, path, problem.WrongType, i18n.New(`a list of names or "all"`, `名称数组或 "all"`), n.kind)
		return
	}
	v.Set(reflect.ValueOf(out))
}
