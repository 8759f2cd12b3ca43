package catalog

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/say"
)

// Toon writes a JSON object or array in TOON, a notation that names the
// columns of a table once. ok is false for anything else, when it would not be
// shorter, and when reading it back does not give the same JSON.
func Toon(data []byte) (toon string, ok bool) {
	if !jsonrpc.Valid(data) {
		return "", false
	}
	data = bytes.TrimSpace(data)
	if data[0] != '{' && data[0] != '[' {
		return "", false
	}
	plain := appendNormal(nil, data)
	if toon, ok = encodeToon(plain); !ok || len(toon) >= len(plain) {
		return "", false
	}
	back, err := FromToon(toon)
	return toon, err == nil && string(back) == string(plain)
}

// encodeToon writes an object or array; it cannot write every text.
func encodeToon(data []byte) (string, bool) {
	w := &toonWriter{}
	if data[0] == '{' {
		w.object(data, 0)
	} else {
		w.array("", data, 0)
	}
	return strings.Join(w.lines, "\n"), !w.failed && len(w.lines) > 0
}

// appendNormal writes JSON without white space and with every string escaped
// in one way; numbers stay as they are written.
func appendNormal(dst, v []byte) []byte {
	first := true
	comma := func() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
	}
	switch v[0] {
	case '{':
		dst = append(dst, '{')
		for name, sub := range jsonrpc.Members(v) {
			comma()
			dst = append(append(dst, jsonrpc.Quote(name)...), ':')
			dst = appendNormal(dst, sub)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for sub := range jsonrpc.Elements(v) {
			comma()
			dst = appendNormal(dst, sub)
		}
		return append(dst, ']')
	case '"':
		return append(dst, jsonrpc.Quote(text(v))...)
	}
	return append(dst, v...)
}

type toonWriter struct {
	lines  []string
	failed bool
}

func (w *toonWriter) line(depth int, s string) {
	w.lines = append(w.lines, strings.Repeat("  ", depth)+s)
}

func (w *toonWriter) object(obj []byte, depth int) {
	for name, v := range jsonrpc.Members(obj) {
		key := w.key(name)
		switch v[0] {
		case '{':
			w.line(depth, key+":")
			w.object(v, depth+1)
		case '[':
			w.array(key, v, depth)
		default:
			w.line(depth, key+": "+w.scalar(v))
		}
	}
}

// array writes a header with the number of elements, then the elements: on
// the same line, as the rows of a table, or as a list.
func (w *toonWriter) array(key string, arr []byte, depth int) {
	elements := slices.Collect(jsonrpc.Elements(arr))
	head := key + "[" + strconv.Itoa(len(elements)) + "]"
	if len(elements) == 0 {
		w.line(depth, head+":")
		return
	}
	if columns := tableColumns(elements); columns != nil {
		names := make([]string, len(columns))
		for i, c := range columns {
			names[i] = w.key(c)
		}
		w.line(depth, head+"{"+strings.Join(names, ",")+"}:")
		for _, row := range elements {
			var cells [][]byte
			for _, v := range jsonrpc.Members(row) {
				cells = append(cells, v)
			}
			w.line(depth+1, w.scalars(cells))
		}
		return
	}
	if !slices.ContainsFunc(elements, isComposite) {
		w.line(depth, head+": "+w.scalars(elements))
		return
	}
	w.line(depth, head+":")
	for _, v := range elements {
		w.listItem(v, depth+1)
	}
}

func (w *toonWriter) listItem(v []byte, depth int) {
	switch v[0] {
	case '[':
		first := len(w.lines)
		w.array("", v, depth)
		w.lines[first] = strings.Repeat("  ", depth) + "- " + strings.TrimLeft(w.lines[first], " ")
	case '{':
		first := len(w.lines)
		w.object(v, depth+1)
		if len(w.lines) == first {
			w.line(depth, "-")
			return
		}
		w.lines[first] = strings.Repeat("  ", depth) + "- " + strings.TrimLeft(w.lines[first], " ")
	default:
		w.line(depth, "- "+w.scalar(v))
	}
}

func isComposite(v []byte) bool { return v[0] == '{' || v[0] == '[' }

// tableColumns are the members that all elements have, in the same order and
// with simple values; nil when they are no table.
func tableColumns(elements [][]byte) []string {
	var columns []string
	for i, e := range elements {
		if e[0] != '{' {
			return nil
		}
		n := 0
		for name, v := range jsonrpc.Members(e) {
			if isComposite(v) {
				return nil
			}
			if i == 0 {
				columns = append(columns, name)
			} else if n >= len(columns) || columns[n] != name {
				return nil
			}
			n++
		}
		if n == 0 || n != len(columns) {
			return nil
		}
	}
	return columns
}

func (w *toonWriter) scalars(values [][]byte) string {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = w.scalar(v)
	}
	return strings.Join(cells, ",")
}

var (
	bareKey    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	likeNumber = regexp.MustCompile(`^[+-]?[0-9.]`)
)

func (w *toonWriter) key(name string) string {
	if bareKey.MatchString(name) {
		return name
	}
	return w.quoted(name)
}

func (w *toonWriter) scalar(v []byte) string {
	if v[0] != '"' {
		return string(v)
	}
	s := text(v)
	if s == "" || s != strings.TrimSpace(s) || s[0] == '-' || s[0] == '#' || likeNumber.MatchString(s) ||
		s == "true" || s == "false" || s == "null" || strings.ContainsAny(s, ":\"\\[]{},|\n\r\t") {
		return w.quoted(s)
	}
	return w.checked(s)
}

func (w *toonWriter) quoted(s string) string {
	r := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	return `"` + w.checked(r.Replace(s)) + `"`
}

// checked fails for characters that TOON has no escape for.
func (w *toonWriter) checked(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < 0x20 || r == 0x2028 || r == 0x2029 || r == 0x85 }) >= 0 {
		w.failed = true
	}
	return s
}

var errToon = say.Errorf("malformed TOON", "TOON 格式不正确")
