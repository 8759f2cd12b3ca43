package jsonrpc

import (
	"bytes"
	"iter"
)

// A walker steps through the members of one object. It expects scanned JSON,
// but stops safely at invalid input.
type walker struct {
	data []byte
	i    int
	// depth, if set, is the maximum depth of a value, and brackets are checked.
	depth int
	// first reports that no member has been read yet.
	first bool
	// closed reports that the closing brace was reached; i is then after it.
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

// key returns the unescaped key.
func (w *walker) key() []byte {
	inner := w.data[w.name+1 : w.nameEnd-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return AppendUnescaped(nil, inner)
}

func (w *walker) raw() []byte { return w.data[w.value:w.end:w.end] }

// find moves to the member with the given name.
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

// Get returns the raw value of a member, nil if it is absent. path holds object
// keys, compared unescaped. obj must be scanned JSON.
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

// GetString returns the text of a string member; false if it is absent or not a
// string.
func GetString(obj []byte, path ...string) (string, bool) {
	return Text(Get(obj, path...))
}

// Text returns the text of a raw value; false if it is not a string.
func Text(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return unquote(raw), true
}

// AsObject returns raw if it is an object, and an empty object otherwise.
func AsObject(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		return []byte(`{}`)
	}
	return raw
}

// AsArray returns raw if it is an array, and an empty array otherwise.
func AsArray(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '[' {
		return []byte(`[]`)
	}
	return raw
}

// Members yields the unescaped keys of an object and their raw values, in
// order.
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
