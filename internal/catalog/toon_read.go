package catalog

import (
	"strconv"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// FromToon reads what Toon wrote back into JSON.
func FromToon(toon string) ([]byte, error) {
	r := &toonReader{}
	for line := range strings.SplitSeq(toon, "\n") {
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		if text == "" || indent%2 != 0 {
			return nil, errToon
		}
		r.lines = append(r.lines, toonLine{indent / 2, text})
	}
	var out []byte
	var err error
	if h, ok := parseHead(r.lines[0].text); ok && h.array && h.key == "" && !h.quotedKey {
		r.pos++
		out, err = r.array(nil, h, 0)
	} else {
		out, err = r.object(nil, 0)
	}
	if err == nil && r.pos != len(r.lines) {
		err = errToon
	}
	return out, err
}

type toonLine struct {
	depth int
	text  string
}

type toonReader struct {
	lines []toonLine
	pos   int
}

// toonHead is what stands before the colon of a line, and after it.
type toonHead struct {
	key       string
	quotedKey bool
	array     bool
	n         int
	columns   []string
	table     bool
	rest      string
}

func parseHead(s string) (h toonHead, ok bool) {
	if h.key, h.quotedKey, s, ok = cutKey(s); !ok {
		return h, false
	}
	if strings.HasPrefix(s, "[") {
		count, after, found := strings.Cut(s[1:], "]")
		n, err := strconv.Atoi(count)
		if !found || err != nil || n < 0 {
			return h, false
		}
		h.array, h.n, s = true, n, after
		if strings.HasPrefix(s, "{") {
			if h.columns, s, ok = cutColumns(s[1:]); !ok {
				return h, false
			}
			h.table = true
		}
	} else if h.key == "" && !h.quotedKey {
		return h, false
	}
	if s, ok = strings.CutPrefix(s, ":"); !ok {
		return h, false
	}
	h.rest = strings.TrimPrefix(s, " ")
	return h, true
}

func cutKey(s string) (key string, quoted bool, rest string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		key, rest, ok = cutQuoted(s)
		return key, true, rest, ok
	}
	end := strings.IndexAny(s, "[:,{ \"")
	if end < 0 {
		return "", false, "", false
	}
	return s[:end], false, s[end:], true
}

func cutColumns(s string) (columns []string, rest string, ok bool) {
	for {
		var name string
		if strings.HasPrefix(s, `"`) {
			if name, s, ok = cutQuoted(s); !ok {
				return nil, "", false
			}
		} else {
			end := strings.IndexAny(s, ",}")
			if end < 0 {
				return nil, "", false
			}
			name, s = s[:end], s[end:]
		}
		columns = append(columns, name)
		if s == "" {
			return nil, "", false
		}
		end := s[0] == '}'
		if s = s[1:]; end {
			return columns, s, true
		}
	}
}

// cutQuoted reads a quoted text from the beginning of s.
func cutQuoted(s string) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			i++
			if i == len(s) {
				return "", "", false
			}
			at := strings.IndexByte(`\"nrt`, s[i])
			if at < 0 {
				return "", "", false
			}
			b.WriteByte("\\\"\n\r\t"[at])
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

func (r *toonReader) object(dst []byte, depth int) ([]byte, error) {
	dst = append(dst, '{')
	for first := true; r.pos < len(r.lines) && r.lines[r.pos].depth == depth; first = false {
		h, ok := parseHead(r.lines[r.pos].text)
		if !ok || h.array && h.key == "" && !h.quotedKey {
			return nil, errToon
		}
		r.pos++
		if !first {
			dst = append(dst, ',')
		}
		dst = append(append(dst, jsonrpc.Quote(h.key)...), ':')
		var err error
		switch {
		case h.array:
			dst, err = r.array(dst, h, depth)
		case h.rest == "":
			dst, err = r.object(dst, depth+1)
		default:
			dst, err = appendScalar(dst, h.rest)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (r *toonReader) array(dst []byte, h toonHead, depth int) ([]byte, error) {
	dst = append(dst, '[')
	if h.rest != "" {
		cells, err := splitCells(h.rest)
		if err != nil || len(cells) != h.n {
			return nil, errToon
		}
		for i, cell := range cells {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendScalar(dst, cell); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	for i := range h.n {
		if r.pos >= len(r.lines) || r.lines[r.pos].depth != depth+1 {
			return nil, errToon
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if h.table {
			dst, err = r.row(dst, h.columns)
		} else {
			dst, err = r.listItem(dst, depth+1)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func (r *toonReader) row(dst []byte, columns []string) ([]byte, error) {
	cells, err := splitCells(r.lines[r.pos].text)
	if err != nil || len(cells) != len(columns) {
		return nil, errToon
	}
	r.pos++
	dst = append(dst, '{')
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, jsonrpc.Quote(columns[i])...), ':')
		if dst, err = appendScalar(dst, cell); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (r *toonReader) listItem(dst []byte, depth int) ([]byte, error) {
	line := &r.lines[r.pos]
	if line.text == "-" {
		r.pos++
		return append(dst, "{}"...), nil
	}
	item, ok := strings.CutPrefix(line.text, "- ")
	if !ok {
		return nil, errToon
	}
	h, ok := parseHead(item)
	switch {
	case !ok:
		r.pos++
		return appendScalar(dst, item)
	case h.array && h.key == "" && !h.quotedKey:
		r.pos++
		return r.array(dst, h, depth)
	}
	// The first member stands on the line of the hyphen, one level in.
	line.depth, line.text = depth+1, item
	return r.object(dst, depth+1)
}

// splitCells cuts a line at the commas that are not within quotes.
func splitCells(s string) ([]string, error) {
	var cells []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			cells = append(cells, s[start:i])
			start = i + 1
		}
	}
	if quoted {
		return nil, errToon
	}
	return append(cells, s[start:]), nil
}

func appendScalar(dst []byte, s string) ([]byte, error) {
	switch {
	case s == "":
		return nil, errToon
	case s[0] == '"':
		text, rest, ok := cutQuoted(s)
		if !ok || rest != "" {
			return nil, errToon
		}
		return append(dst, jsonrpc.Quote(text)...), nil
	case s == "true" || s == "false" || s == "null" || jsonNumber.MatchString(s):
		return append(dst, s...), nil
	}
	return append(dst, jsonrpc.Quote(s)...), nil
}
