package jsonrpc

// Cut is Set with a nil value in the memory of obj, which is used up: what is
// shorter, before or behind the member, is moved.
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

// Add is Set with a value for a member of obj that is left as it is where obj
// has it. Where it may, and there is room behind obj, it is written there.
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
	member = append(append(appendQuoted(member, name), ':'), value...)
	out := obj
	if size := len(obj) + len(member); inPlace && cap(obj) >= size {
		out = obj[:size]
	} else {
		out = make([]byte, size)
		copy(out, obj[:at])
	}
	copy(out[at+len(member):], obj[at:]) // in its own memory it moves
	copy(out[at:], member)
	return out
}
