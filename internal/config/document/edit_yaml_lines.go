package document

import (
	"strings"
	"unicode/utf8"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/lazy"
)

// isBlock reports whether an object or list is written in block style: only
// spaces and dashes precede its first key or dash on the line.
func (y *yamlEditor) isBlock(n *Node) bool {
	switch {
	case n.Kind == KindObject && len(n.Members) > 0:
		at := n.Members[0].Pos
		return n.Pos == at && strings.TrimLeft(y.before(at), " -") == ""
	case n.Kind == KindArray && len(n.Items) > 0:
		_, ok := y.dash(n.Items[0])
		return ok
	}
	return false
}

// before returns the text of the line before a position.
func (y *yamlEditor) before(at problem.Pos) string {
	if at.Line < 1 || at.Line > len(y.lines) {
		return "?"
	}
	r := []rune(y.lines[at.Line-1])
	return string(r[:min(at.Col-1, len(r))])
}

// dash returns the position of the dash before an item.
func (y *yamlEditor) dash(item *Node) (problem.Pos, bool) {
	before := y.before(item.Pos)
	i := strings.LastIndexByte(before, '-')
	if i < 0 || strings.TrimSpace(before[i+1:]) != "" || strings.TrimLeft(before, " -") != "" {
		return problem.Pos{}, false
	}
	return problem.Pos{Line: item.Line, Col: utf8.RuneCountInString(before[:i]) + 1}, true
}

// itemPlace returns the position of a member's key or an item's dash. shared is
// true for a key on the same line as a dash.
func (y *yamlEditor) itemPlace(parent *Node, s Step) (at problem.Pos, shared bool) {
	if !s.IsKey {
		at, _ = y.dash(parent.Items[s.Index])
		return at, strings.TrimSpace(y.before(at)) != ""
	}
	for _, m := range parent.Members {
		if m.Key == s.Key {
			return m.Pos, strings.TrimSpace(y.before(m.Pos)) != ""
		}
	}
	return problem.Pos{Line: 1, Col: 1}, true
}

// blockEnd returns the line after the last line of the member or item whose
// first line is from and whose column is indent. Trailing blank lines and
// comments that start further left belong to the next member or item.
func (y *yamlEditor) blockEnd(from, indent int, item bool) int {
	end := from + 1
	for i := from + 1; i < len(y.lines); i++ {
		line := y.lines[i]
		body := strings.TrimLeft(line, " ")
		depth := len(line) - len(body)
		switch {
		case strings.TrimSpace(body) == "":
			continue
		case strings.HasPrefix(body, "#") && depth <= indent:
			continue
		case depth > indent:
		case depth == indent && !item && (body == "-" || strings.HasPrefix(body, "- ")):
		default:
			return end
		}
		end = i + 1
	}
	return end
}

var plainScalar = lazy.Regexp(`^[A-Za-z0-9_./@+-][A-Za-z0-9_./@+ -]*$`)

// replaceScalar replaces a value that is one token on one line, and keeps the
// comment after it.
func (y *yamlEditor) replaceScalar(old *Node, e edit) bool {
	value := e.value
	if old == nil || old.Kind >= KindArray || value.Kind >= KindArray || old.Line < 1 || old.Line > len(y.lines) {
		return false
	}
	line := []rune(y.lines[old.Line-1])
	if old.Col-1 > len(line) || strings.TrimSpace(y.before(old.Pos)) == "" {
		return false
	}
	rest := string(line[old.Col-1:])
	length := tokenLength(rest, old)
	if length < 0 {
		return false
	}
	text := string(line[:old.Col-1]) + yamlScalar(value) + rest[length:]
	y.splices = append(y.splices, splice{old.Line - 1, old.Line, []string{text}, e.path})
	return true
}

// tokenLength returns the length in bytes of the scalar at the start of rest,
// or -1 if it does not end on this line.
func tokenLength(rest string, old *Node) int {
	if rest == "" {
		return -1
	}
	switch rest[0] {
	case '\'':
		if want := "'" + strings.ReplaceAll(old.Text, "'", "''") + "'"; strings.HasPrefix(rest, want) {
			return len(want)
		}
		return -1
	case '"':
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return -1
	}
	if strings.HasPrefix(rest, old.Raw) && old.Raw != "" {
		after := rest[len(old.Raw):]
		if strings.TrimSpace(after) == "" || strings.HasPrefix(after, " #") || strings.HasPrefix(strings.TrimLeft(after, " "), "#") {
			return len(old.Raw)
		}
	}
	return -1
}

// itemLines returns the lines of a member or an item with that indentation.
func (y *yamlEditor) itemLines(s Step, value *Node, indent int) []string {
	holder := &Node{Kind: KindArray, Items: []*Node{value}}
	if s.IsKey {
		holder = &Node{Kind: KindObject, Members: []Member{{Key: s.Key, Value: value}}}
	}
	text := strings.TrimSuffix(string(appendYAML(nil, holder, indent)), "\n")
	return strings.Split(text, "\n")
}

// appendYAML writes a value in block style.
func appendYAML(dst []byte, n *Node, indent int) []byte {
	pad := strings.Repeat(" ", indent)
	switch {
	case n.Kind == KindObject && len(n.Members) > 0:
		for _, m := range n.Members {
			dst = append(dst, pad+yamlScalar(&Node{Kind: KindString, Text: m.Key})+":"...)
			dst = appendYAMLValue(dst, m.Value, indent+2)
		}
	case n.Kind == KindArray && len(n.Items) > 0:
		for _, item := range n.Items {
			if item.Kind == KindObject && len(item.Members) > 0 {
				nested := appendYAML(nil, item, indent+2)
				dst = append(append(dst, pad+"- "...), nested[indent+2:]...)
				continue
			}
			dst = append(dst, pad+"-"...)
			dst = appendYAMLValue(dst, item, indent+2)
		}
	default:
		dst = append(dst, pad+yamlScalar(n)+"\n"...)
	}
	return dst
}

// appendYAMLValue writes the value after a key or a dash.
func appendYAMLValue(dst []byte, v *Node, indent int) []byte {
	if len(v.Members)+len(v.Items) == 0 || v.Kind == KindArray && flat(v) {
		return append(dst, " "+yamlScalar(v)+"\n"...)
	}
	return appendYAML(append(dst, '\n'), v, indent)
}

// yamlScalar writes a value on one line: as a plain scalar if it cannot be
// misread, else as JSON, which is also YAML.
func yamlScalar(n *Node) string {
	if n.Kind != KindString {
		return string(n.AppendJSON(nil, "", ""))
	}
	if plainScalar().MatchString(n.Text) && !strings.HasSuffix(n.Text, " ") && !strings.HasPrefix(n.Text, "-") {
		if got := parseYAML([]byte("k: "+n.Text+"\n"), &problem.List{}).Get("k"); got != nil && got.Kind == KindString && got.Text == n.Text {
			return n.Text
		}
	}
	return string(Quote(n.Text))
}
