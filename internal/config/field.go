package config

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/config/units"
)

// field is one key of the file, described by the tags of a struct field. The
// decoder, the defaults, the JSON Schema and the reference page are all derived
// from it.
type field struct {
	index    int
	name     string
	doc, zh  string
	def      string
	hasDef   bool
	enum     []string
	min, max string
	size     bool
	nul      bool // a NUL character is allowed
	typ      reflect.Type
}

var (
	typeDuration = reflect.TypeFor[time.Duration]()
	typeSecret   = reflect.TypeFor[Secret]()
	typeRaw      = reflect.TypeFor[json.RawMessage]()
	typeInherit  = reflect.TypeFor[Inherit]()
	typeSampling = reflect.TypeFor[SamplingAnswer]()
)

// fieldCache caches the results of readFields: a file with thousands of servers
// asks for the same struct thousands of times.
var fieldCache sync.Map

// fieldsOf returns the keys of a struct.
func fieldsOf(t reflect.Type) []field {
	if fields, ok := fieldCache.Load(t); ok {
		return fields.([]field)
	}
	fields := readFields(t)
	fieldCache.Store(t, fields)
	return fields
}

func readFields(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		def, hasDef := f.Tag.Lookup("def")
		out := field{
			index: i, name: name, typ: f.Type,
			doc: f.Tag.Get("doc"), zh: f.Tag.Get("zh"),
			def: def, hasDef: hasDef,
			min: f.Tag.Get("min"), max: f.Tag.Get("max"),
			size: f.Tag.Get("unit") == "size",
			nul:  f.Tag.Get("nul") == "true",
		}
		if enum := f.Tag.Get("enum"); enum != "" {
			out.enum = strings.Split(enum, "|")
		}
		fields = append(fields, out)
	}
	return fields
}

// setDefaults fills a struct with the defaults of its tags. It panics if a tag
// does not fit its field.
func setDefaults(v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		target := v.Field(f.index)
		if target.Kind() == reflect.Struct {
			setDefaults(target)
			continue
		}
		if f.hasDef {
			setDefault(target, f)
		}
	}
}

func setDefault(v reflect.Value, f field) {
	var err error
	switch {
	case f.typ == typeDuration:
		var d time.Duration
		d, err = units.Duration(f.def)
		v.SetInt(int64(d))
	case f.size:
		var n int64
		n, err = units.Size(f.def)
		v.SetInt(n)
	case v.CanInt():
		var n int64
		n, err = strconv.ParseInt(f.def, 10, 64)
		v.SetInt(n)
	case v.Kind() == reflect.Bool:
		v.SetBool(f.def == "true")
	default:
		v.SetString(f.def)
	}
	if err != nil {
		panic("config: default of " + f.name + ": " + err.Error())
	}
}
