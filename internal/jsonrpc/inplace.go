package jsonrpc

import "bytes"

const whiteSpace = " \t\r\n"

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

// Add returns obj with one more member, which nobody looked for, behind the
// others. Where it may, and there is room behind obj, it is written there.
func Add(obj []byte, member string, inPlace bool) []byte {
	obj = bytes.Trim(obj, whiteSpace)
	last := len(obj) - 1
	if last < 1 || obj[0] != '{' || obj[last] != '}' {
		return obj
	}
	if len(bytes.TrimLeft(obj[1:last], whiteSpace)) > 0 {
		member = "," + member
	}
	if room := last + len(member) + 1; !inPlace || cap(obj) < room {
		obj = append(make([]byte, 0, room), obj...)
	}
	return append(append(obj[:last], member...), '}')
}
