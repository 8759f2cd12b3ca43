package jsonrpc

import (
	"bytes"
	"iter"
)

// A walker steps through the members of one object. It trusts what was
// scanned but stops, without harm, at whatever is no JSON.
type walker struct {
	data []byte
	i    int
	// depth, when set, is how deep a value may be; its brackets are checked.
	depth int
	// first says that no member was read yet.
	first bool
	// closed says that the closing brace was reached; i is behind it then.
	closed bool

	name, nameEnd int // the key with its quotes
	value, end    int
}

// open enters the object at i.
func (w *walker) open() bool {
	w.i = skipSpace(w.data, w.i)
	if w.i >= len(w.data) || w.data[w.i] != '{' {
		return false
	}
	w.i++
	w.first = true
	return true
}

// next moves to the next member and reports whether there is one.
func (w *walker) next() bool {
	d := w.data
	i := skipSpace(d, w.i)
	if i >= len(d) {
		return false
	}
	switch {
	case d[i] == '}' && !w.closed:
		w.closed = true
		w.i = i + 1
		return false
	case w.closed:
		return false
	case w.first:
		w.first = false
	case d[i] == ',':
		i = skipSpace(d, i+1)
	default:
		return false
	}
	if i >= len(d) || d[i] != '"' {
		return false
	}
	w.name = i
	if w.nameEnd = skipString(d, i); w.nameEnd < 0 {
		return false
	}
	i = skipSpace(d, w.nameEnd)
	if i >= len(d) || d[i] != ':' {
		return false
	}
	w.value = skipSpace(d, i+1)
	if w.depth > 0 {
		w.end = shapeEnd(d, w.value, w.depth)
	} else {
		w.end = skipValue(d, w.value)
	}
	if w.end < 0 {
		return false
	}
	w.i = w.end
	return true
}

func (w *walker) rawKey() []byte { return w.data[w.name:w.nameEnd] }

// key is the key unescaped.
func (w *walker) key() []byte {
	inner := w.data[w.name+1 : w.nameEnd-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return AppendUnescaped(nil, inner)
}

func (w *walker) raw() []byte { return w.data[w.value:w.end:w.end] }

// find moves to the member of that name.
func (w *walker) find(name string) bool {
	if !w.open() {
		return false
	}
	for w.next() {
		if string(w.key()) == name {
			return true
		}
	}
	return false
}

// Get returns the raw value of a member, nil when it is absent. path holds
// object keys, compared unescaped. obj must be scanned JSON.
func Get(obj []byte, path ...string) []byte {
	for _, name := range path {
		w := walker{data: obj}
		if !w.find(name) {
			return nil
		}
		obj = w.raw()
	}
	return obj
}

// GetString returns the text of a string member; false when it is absent or
// no string.
func GetString(obj []byte, path ...string) (string, bool) {
	return Text(Get(obj, path...))
}

// Text returns the text of a raw value; false when it is no string.
func Text(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return unquote(raw), true
}

// AsObject returns raw where it is an object, and an empty one elsewhere.
func AsObject(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		return []byte(`{}`)
	}
	return raw
}

// AsArray returns raw where it is an array, and an empty one elsewhere.
func AsArray(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '[' {
		return []byte(`[]`)
	}
	return raw
}

// Members yields the keys of an object, unescaped, with their raw values in
// the order in which they stand.
func Members(obj []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		w := walker{data: obj}
		if !w.open() {
			return
		}
		for w.next() {
			if !yield(string(w.key()), w.raw()) {
				return
			}
		}
	}
}

// Elements yields the raw values of an array.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := skipSpace(arr, 0)
		if i >= len(arr) || arr[i] != '[' {
			return
		}
		for {
			i = skipSpace(arr, i+1)
			end := skipValue(arr, i)
			if end < 0 || !yield(arr[i:end:end]) {
				return
			}
			i = skipSpace(arr, end)
			if i >= len(arr) || arr[i] != ',' {
				return
			}
		}
	}
}
