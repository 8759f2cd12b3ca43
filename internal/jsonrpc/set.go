package jsonrpc

// Set returns obj with the member at path set to value; a nil value removes it.
// Parents that are missing or not objects are created. All other bytes stay
// unchanged. obj is never modified; Set returns it if there is nothing to
// remove.
func Set(obj, value []byte, path ...string) []byte {
	if len(path) == 0 {
		return value
	}
	start, end := 0, len(obj)
	for depth, name := range path {
		w := walker{data: obj, i: start}
		if !w.open() {
			if value == nil {
				return obj
			}
			return splice(obj, start, end, "{", path[depth:], value, "}")
		}
		inside := w.i
		behind, found := w.seek(name)
		switch {
		case !found && value == nil:
			return obj
		case !found && behind < 0:
			return splice(obj, inside, inside, "", path[depth:], value, "")
		case !found:
			return splice(obj, behind, behind, ",", path[depth:], value, "")
		case depth < len(path)-1:
			start, end = w.value, w.end
		case value == nil:
			return w.remove(behind)
		default:
			return splice(obj, w.value, w.end, "", nil, value, "")
		}
	}
	return obj
}

// seek moves to the member with the given name. behind is the end of the
// previous member, or of the last member if the name is not found; -1 if there
// is none.
func (w *walker) seek(name string) (behind int, found bool) {
	behind = -1
	for w.next() {
		if string(w.key()) == name {
			return behind, true
		}
		behind = w.end
	}
	return behind, false
}

// remove returns the data without the current member and one comma.
func (w *walker) remove(behind int) []byte {
	start, end := w.span(behind)
	out := make([]byte, 0, len(w.data)-(end-start))
	return append(append(out, w.data[:start]...), w.data[end:]...)
}

// span returns the range to remove with the current member, including one
// comma.
func (w *walker) span(behind int) (start, end int) {
	start, end = w.name, w.end
	if behind >= 0 {
		start = behind
	} else if i := skipSpace(w.data, end); i < len(w.data) && w.data[i] == ',' {
		end = skipSpace(w.data, i+1)
	}
	return start, end
}

// splice replaces obj[start:end] with before, the value nested under the keys
// of path, and after.
func splice(obj []byte, start, end int, before string, path []string, value []byte, after string) []byte {
	size := len(obj) - (end - start) + len(before) + len(value) + len(after)
	for _, name := range path {
		size += 2*len(name) + 5
	}
	out := make([]byte, 0, size)
	out = append(append(out, obj[:start]...), before...)
	for n, name := range path {
		if n > 0 {
			out = append(out, '{')
		}
		out = append(AppendQuoted(out, name), ':')
	}
	out = append(out, value...)
	for n := 1; n < len(path); n++ {
		out = append(out, '}')
	}
	return append(append(out, after...), obj[end:]...)
}
