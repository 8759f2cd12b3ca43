package config

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/config/units"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// decoder fills structs from nodes and reports values that do not fit.
type decoder struct {
	c *problem.List
	// soft makes a value that does not fit a warning instead of an error; the
	// default stays.
	soft bool
	// extra are keys that other code reads, so they are not unknown.
	extra []string
}

// mistyped reports a value that is no list or no object where one of type t is
// wanted, with an example of one.
func (d *decoder) mistyped(n *document.Node, path string, want document.Kind, t reflect.Type) {
	if p := d.report(n, path, problem.WrongType, want, n.Kind); p.Hint != "" {
		text := example(t, "")
		p.Hint, p.HintZH = "write it as "+text, "请写成 "+text
	}
}

// report records that n does not fit, unless n contains an undefined variable.
func (d *decoder) report(n *document.Node, path, code string, args ...any) *problem.Problem {
	if n.Unresolved {
		return &problem.Problem{}
	}
	sev := problem.SeverityError
	if d.soft {
		sev = problem.SeverityWarning
	}
	p := d.c.Add(sev, n.Pos, path, code, args...)
	if code != problem.WrongType {
		return p
	}
	if want, ok := args[0].(document.Kind); ok {
		if hint, ok := rightType[want]; ok {
			p.Hint, p.HintZH = hint[0], hint[1]
		}
	}
	return p
}

// rightType gives a hint how each kind of value is written.
var rightType = map[document.Kind][2]string{
	document.KindString: {"put it into quotes", "请加引号"},
	document.KindBool:   {"write true or false", "请写 true 或 false"},
	document.KindNumber: {"write a number without quotes", "请写不带引号的数字"},
}

// object fills the struct v from n. Keys that no field reads are warnings.
func (d *decoder) object(n *document.Node, v reflect.Value, path string) {
	if n.Kind == document.KindNull {
		return
	}
	if n.Kind != document.KindObject {
		d.mistyped(n, path, document.KindObject, v.Type())
		return
	}
	fields := fieldsOf(v.Type())
	known := make(map[string]field, len(fields))
	for _, f := range fields {
		known[f.name] = f
	}
	for _, m := range n.Members {
		f, ok := known[m.Key]
		if !ok {
			d.unknown(m, v.Type(), path)
			continue
		}
		if m.Value.Kind == document.KindNull {
			continue
		}
		d.value(m.Value, v.Field(f.index), f, document.Join(path, m.Key))
	}
}

// unknown warns about a key that no field reads.
func (d *decoder) unknown(m document.Member, in reflect.Type, path string) {
	if reason, ok := retired[in][m.Key]; ok {
		d.c.Add(problem.SeverityWarning, m.Pos, document.Join(path, m.Key), problem.NoEffect, m.Key, reason)
		return
	}
	names := append([]string(nil), d.extra...)
	if slices.Contains(d.extra, m.Key) {
		return
	}
	for _, f := range fieldsOf(in) {
		names = append(names, f.name)
	}
	p := d.c.Add(problem.SeverityWarning, m.Pos, document.Join(path, m.Key), problem.UnknownKey, m.Key)
	p.Meant(spelling.Nearest(m.Key, names))
}

// value fills one field.
func (d *decoder) value(n *document.Node, v reflect.Value, f field, path string) {
	switch {
	case f.typ == typeDuration:
		d.duration(n, v, f, path)
	case f.typ == typeRaw:
		v.SetBytes(n.AppendJSON(nil, "", ""))
	case f.typ == typeInherit:
		d.inherit(n, v, path)
	case f.typ == typeSandbox:
		d.sandbox(n, v, path)
	case f.typ == typeHosts:
		d.hosts(n, v, path)
	case f.size:
		d.size(n, v, f, path)
	case f.typ.Kind() == reflect.Pointer:
		target := reflect.New(f.typ.Elem())
		f.typ = f.typ.Elem()
		if f.typ.Kind() == reflect.Struct {
			setDefaults(target.Elem())
		}
		d.value(n, target.Elem(), f, path)
		v.Set(target)
	case f.typ == typeSampling && n.Kind == document.KindString:
		v.FieldByName("Text").SetString(n.Text)
	default:
		d.kind(n, v, f, path)
	}
}

func (d *decoder) kind(n *document.Node, v reflect.Value, f field, path string) {
	switch f.typ.Kind() {
	case reflect.String:
		if s, ok := d.text(n, path, f.nul); ok && d.oneOf(n, s, f, path) {
			v.SetString(s)
		}
	case reflect.Bool:
		d.boolean(n, v, path)
	case reflect.Int, reflect.Int64:
		d.integer(n, v, f, path)
	case reflect.Slice:
		d.list(n, v, f, path)
	case reflect.Map:
		d.table(n, v, f, path)
	case reflect.Struct:
		d.object(n, v, path)
	default:
		panic("config: no way to read a " + f.typ.String())
	}
}

// text accepts only a string: a number in a text field is a mistake.
func (d *decoder) text(n *document.Node, path string, nul bool) (string, bool) {
	if n.Kind != document.KindString {
		d.report(n, path, problem.WrongType, document.KindString, n.Kind)
		return "", false
	}
	if !nul && strings.IndexByte(n.Text, 0) >= 0 {
		d.report(n, path, problem.Character, i18n.New("the text", "文本"), i18n.New("a NUL character", " NUL 字符"))
		return "", false
	}
	return n.Text, true
}

// scalar also accepts numbers and booleans, as they are written. It is used for
// environment variables and arguments, which are always text.
func (d *decoder) scalar(n *document.Node, path string) (string, bool) {
	if n.Kind == document.KindNumber || n.Kind == document.KindBool {
		return n.Raw, true
	}
	return d.text(n, path, false)
}

func (d *decoder) oneOf(n *document.Node, s string, f field, path string) bool {
	if len(f.enum) == 0 || s == "" {
		return true
	}
	if slices.Contains(f.enum, s) {
		return true
	}
	p := d.report(n, path, problem.NotOneOf, shown(n), i18n.New("one of %s", "允许的取值 %s 之一", strings.Join(f.enum, ", ")))
	p.Meant(spelling.Nearest(shown(n), f.enum))
	return false
}

// shown returns a value as a message may quote it: as it is written in the
// file, never with the value of a variable.
func shown(n *document.Node) string {
	s := n.Text
	if n.Expanded || n.Kind == document.KindNumber {
		s = n.Raw
	}
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80]) + "…"
	}
	return s
}

func (d *decoder) boolean(n *document.Node, v reflect.Value, path string) {
	if n.Kind == document.KindBool {
		v.SetBool(n.Text == "true")
		return
	}
	if b, err := strconv.ParseBool(n.Text); err == nil && n.Expanded {
		v.SetBool(b)
		return
	}
	d.report(n, path, problem.WrongType, document.KindBool, n.Kind)
}

func (d *decoder) integer(n *document.Node, v reflect.Value, f field, path string) {
	if n.Kind != document.KindNumber && !n.Expanded {
		d.report(n, path, problem.WrongType, document.KindNumber, n.Kind)
		return
	}
	x, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || x != math.Trunc(x) {
		d.report(n, path, problem.Unit, shown(n), i18n.New("a whole number", "整数"))
		return
	}
	lo, hi := bound(f.min, math.MinInt64), bound(f.max, math.MaxInt64)
	if x < float64(lo) || x > float64(hi) {
		d.report(n, path, problem.Range, shown(n), f.min, f.max)
		return
	}
	v.SetInt(int64(x))
}

func bound(s string, none int64) int64 {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	return none
}

func (d *decoder) duration(n *document.Node, v reflect.Value, f field, path string) {
	if n.Kind != document.KindNumber && n.Kind != document.KindString {
		d.report(n, path, problem.WrongType, i18n.New("a duration", "时长"), n.Kind)
		return
	}
	x, err := units.Duration(n.Text)
	if err != nil {
		d.report(n, path, problem.Unit, shown(n), err)
		return
	}
	lo, _ := time.ParseDuration(f.min)
	hi, _ := time.ParseDuration(f.max)
	if x < lo || x > hi {
		d.report(n, path, problem.Range, shown(n), f.min, f.max)
		return
	}
	v.SetInt(int64(x))
}

func (d *decoder) size(n *document.Node, v reflect.Value, f field, path string) {
	if n.Kind != document.KindNumber && n.Kind != document.KindString {
		d.report(n, path, problem.WrongType, i18n.New("a size", "大小"), n.Kind)
		return
	}
	x, err := units.Size(n.Text)
	if err != nil {
		d.report(n, path, problem.Unit, shown(n), err)
		return
	}
	if x < bound(f.min, 0) || x > 1<<50 {
		d.report(n, path, problem.Range, shown(n), f.min, "1PiB")
		return
	}
	v.SetInt(x)
}
