package jsonrpc

// Cut is Set with a nil value, but edits obj in place and invalidates it. It
// moves the shorter of the two parts, before or after the member.
func Cut(obj []byte, path ...string) []byte {
	at := 0
	for depth, name := range path {
		w := walker{data: obj, i: at}
		if !w.open() {
			return obj
		}
		behind, found := w.seek(name)
		if !found {
			return obj
		}
		if at = w.value; depth == len(path)-1 {
			start, end := w.span(behind)
			return cut(obj, start, end)
		}
	}
	return obj
}

func cut(obj []byte, start, end int) []byte {
	if start > len(obj)-end {
		return append(obj[:start], obj[end:]...)
	}
	copy(obj[end-start:end], obj[:start])
	return obj[end-start:]
}

// Add sets a member of obj unless obj already has it. If inPlace is true and
// obj has spare capacity, Add writes into the memory of obj.
func Add(obj []byte, name, value string, inPlace bool) []byte {
	w := walker{data: obj}
	if !w.open() {
		return obj
	}
	at := w.i
	behind, found := w.seek(name)
	if found {
		return obj
	}
	var short [64]byte
	member := short[:0]
	if behind >= 0 {
		at, member = behind, append(member, ',')
	}
	member = append(append(AppendQuoted(member, name), ':'), value...)
	out := obj
	if size := len(obj) + len(member); inPlace && cap(obj) >= size {
		out = obj[:size]
	} else {
		out = make([]byte, size)
		copy(out, obj[:at])
	}
	copy(out[at+len(member):], obj[at:]) // may overlap: out may be obj
	copy(out[at:], member)
	return out
}
