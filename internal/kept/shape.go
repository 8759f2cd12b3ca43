package kept

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Shape describes a text briefly: {rows: 60000 × {id, name}} for JSON, the number
// of lines for other texts.
func Shape(data []byte) string {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && len(trimmed) <= maxJQInput {
		var v any
		if json.Unmarshal(trimmed, &v) == nil {
			return clipped(shape(v, 0))
		}
	}
	lines := bytes.Count(data, []byte("\n"))
	if !bytes.HasSuffix(data, []byte("\n")) {
		lines++
	}
	return fmt.Sprintf("%d lines", lines)
}

const (
	shapeDepth   = 3
	shapeMembers = 12
	maxShape     = 300
)

func clipped(s string) string {
	if len(s) > maxShape {
		return string(cutRunes([]byte(s), maxShape)) + "…"
	}
	return s
}

func shape(v any, depth int) string {
	switch v := v.(type) {
	case map[string]any:
		if depth >= shapeDepth {
			return "{…}"
		}
		return "{" + strings.Join(membersOf(v, depth), ", ") + "}"
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return fmt.Sprintf("%d × %s", len(v), shape(v[0], depth+1))
	case string:
		return "text"
	case float64:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}

func membersOf(v map[string]any, depth int) []string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if len(parts) == shapeMembers {
			parts = append(parts, "…")
			break
		}
		switch v[key].(type) {
		case map[string]any, []any:
			parts = append(parts, key+": "+shape(v[key], depth+1))
		default:
			parts = append(parts, key)
		}
	}
	return parts
}

// HeadTail returns the beginning and the end of a text, cut at a line break if
// there is one nearby, otherwise between characters. left is the number of bytes
// in between.
func HeadTail(text []byte, head, tail int64) (begin, end []byte, left int64) {
	if int64(len(text)) <= head+tail {
		return text, nil, 0
	}
	begin = cutRunes(text, head)
	if at := bytes.LastIndexByte(begin, '\n'); at > len(begin)/2 {
		begin = begin[:at+1]
	}
	from := len(text) - int(tail)
	for from < len(text) && text[from]&0xc0 == 0x80 {
		from++
	}
	end = text[from:]
	if at := bytes.IndexByte(end, '\n'); at >= 0 && at < len(end)/2 {
		end = end[at+1:]
	}
	return begin, end, int64(len(text) - len(begin) - len(end))
}

// Marker returns the text that replaces the omitted part. reader is the tool
// that reads it.
func Marker(left, size int64, shape, uri, reader string) string {
	return fmt.Sprintf("\n… %s of %s bytes left out. Shape: %s. Whole text: %s; use %s(result, lines|grep|jq).\n", grouped(left), grouped(size), shape, uri, reader)
}

// grouped formats a number with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
