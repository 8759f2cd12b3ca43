package probe

import (
	"fmt"
	"net/url"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// ExpandTemplate fills in the variables of a URI template (RFC 6570, without
// modifiers): {x} and {+x}, {/x}, {?x,y}, {&x}, {#x}, {.x}, {;x}.
func ExpandTemplate(template string, values map[string]string) (string, error) {
	var out strings.Builder
	rest := template
	for {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			out.WriteString(rest)
			return out.String(), nil
		}
		end := strings.IndexByte(rest[open:], '}')
		if end < 0 {
			return "", i18n.Errorf("the template %q has a { that is not closed", "模板 %q 中的 { 没有闭合", template)
		}
		out.WriteString(rest[:open])
		piece, err := expandExpression(rest[open+1:open+end], values)
		if err != nil {
			return "", err
		}
		out.WriteString(piece)
		rest = rest[open+end+1:]
	}
}

// TemplateVariables are the names that a URI template has, in their order.
func TemplateVariables(template string) []string {
	var names []string
	for {
		_, rest, ok := strings.Cut(template, "{")
		if !ok {
			return names
		}
		expression, after, ok := strings.Cut(rest, "}")
		if !ok {
			return names
		}
		if expression != "" {
			if _, operator := operators[expression[0]]; operator {
				expression = expression[1:]
			}
		}
		for name := range strings.SplitSeq(expression, ",") {
			names = append(names, strings.TrimSuffix(name, "*"))
		}
		template = after
	}
}

// operators of RFC 6570: what comes first, what separates, whether names are
// written, whether reserved characters pass.
var operators = map[byte]struct {
	first, separator string
	named, reserved  bool
}{
	'+': {"", ",", false, true}, '#': {"#", ",", false, true}, '.': {".", ".", false, false}, '/': {"/", "/", false, false},
	';': {";", ";", true, false}, '?': {"?", "&", true, false}, '&': {"&", "&", true, false},
}

func expandExpression(expression string, values map[string]string) (string, error) {
	op := operators[0]
	op.separator = ","
	optional := false
	if expression != "" {
		if known, ok := operators[expression[0]]; ok {
			op, expression = known, expression[1:]
			optional = op.named
		}
	}
	var parts []string
	for name := range strings.SplitSeq(expression, ",") {
		name = strings.TrimSuffix(name, "*")
		value, given := values[name]
		if !given {
			if optional {
				continue
			}
			return "", &MissingError{Name: name}
		}
		if op.reserved {
			value = escapeReserved(value)
		} else {
			value = strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
		}
		if op.named {
			value = name + "=" + value
		}
		parts = append(parts, value)
	}
	if len(parts) == 0 {
		return "", nil
	}
	return op.first + strings.Join(parts, op.separator), nil
}

// escapeReserved escapes what may not stand in a URI at all.
func escapeReserved(s string) string {
	const allowed = "-._~:/?#[]@!$&'()*+,;=%"
	var out strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(allowed, c) >= 0 {
			out.WriteByte(c)
			continue
		}
		fmt.Fprintf(&out, "%%%02X", c)
	}
	return out.String()
}
