package probe

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// A JSONPath names places in a JSON value: $.items[*].id, $..updated_at,
// $['odd name'][0].
type JSONPath struct{ steps []pathStep }

type pathStep struct {
	name     string
	index    int  // -1 unless it is an index
	any      bool // * or [*]
	anywhere bool // .. before it
}

// ParseJSONPath reads a path; a leading $ may be left out.
func ParseJSONPath(text string) (JSONPath, error) {
	var p JSONPath
	rest := strings.TrimPrefix(text, "$")
	if rest == text && rest != "" && rest[0] != '.' && rest[0] != '[' {
		rest = "." + rest
	}
	for rest != "" {
		s := pathStep{index: -1}
		switch {
		case strings.HasPrefix(rest, ".."):
			s.anywhere = true
			rest = rest[2:]
			if rest != "" && rest[0] == '[' {
				break
			}
			rest = s.member(rest)
		case rest[0] == '.':
			rest = s.member(rest[1:])
		}
		if s.name == "" && !s.any && strings.HasPrefix(rest, "[") {
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return p, i18n.Errorf("path %q: a [ is not closed", "路径 %q：[ 没有闭合", text)
			}
			if err := s.bracket(rest[1:end]); err != nil {
				return p, i18n.Errorf("path %q: %w", "路径 %q：%w", text, err)
			}
			rest = rest[end+1:]
		}
		if s.name == "" && !s.any && s.index < 0 {
			return p, i18n.Errorf("path %q: a name is missing", "路径 %q：缺少名称", text)
		}
		p.steps = append(p.steps, s)
	}
	return p, nil
}

// member reads a name up to the next step and returns what is left.
func (s *pathStep) member(rest string) string {
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	s.name = rest[:end]
	if s.name == "*" {
		s.name, s.any = "", true
	}
	return rest[end:]
}

func (s *pathStep) bracket(inner string) error {
	switch {
	case inner == "*":
		s.any = true
	case len(inner) > 1 && (inner[0] == '\'' || inner[0] == '"') && inner[len(inner)-1] == inner[0]:
		s.name = inner[1 : len(inner)-1]
	default:
		n, err := strconv.Atoi(inner)
		if err != nil || n < 0 {
			return i18n.Errorf("%q is neither an index nor a name in quotes", "%q 既不是下标，也不是引号中的名称", inner)
		}
		s.index = n
	}
	return nil
}

// Find returns every value that the path names.
func (p JSONPath) Find(value any) []any {
	var found []any
	walk(value, p.steps, func(v any) { found = append(found, v) })
	return found
}

func walk(value any, steps []pathStep, visit func(any)) {
	if len(steps) == 0 {
		visit(value)
		return
	}
	s := steps[0]
	for _, c := range children(value) {
		if s.matches(c.name, c.index) {
			walk(c.value, steps[1:], visit)
		}
		if s.anywhere {
			walk(c.value, steps, visit)
		}
	}
}

// Remove takes out what the path names, elements of arrays becoming null, and
// returns the value.
func (p JSONPath) Remove(value any) any {
	removeAt(value, p.steps)
	return value
}

func removeAt(value any, steps []pathStep) {
	if len(steps) == 0 {
		return
	}
	s := steps[0]
	for _, c := range children(value) {
		if s.matches(c.name, c.index) {
			if len(steps) == 1 {
				drop(value, c)
				continue
			}
			removeAt(c.value, steps[1:])
		}
		if s.anywhere {
			removeAt(c.value, steps)
		}
	}
}

func drop(value any, c child) {
	switch v := value.(type) {
	case map[string]any:
		delete(v, c.name)
	case []any:
		v[c.index] = nil
	}
}

type child struct {
	name  string
	index int
	value any
}

// children lists what is directly inside a value, in a fixed order.
func children(value any) []child {
	var list []child
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			list = append(list, child{name, -1, inner})
		}
		slices.SortFunc(list, func(a, b child) int { return strings.Compare(a.name, b.name) })
	case []any:
		for i, inner := range v {
			list = append(list, child{"", i, inner})
		}
	}
	return list
}

func (s *pathStep) matches(name string, index int) bool {
	switch {
	case s.any:
		return true
	case index >= 0:
		return s.index == index
	}
	return s.index < 0 && s.name == name
}

// decodeJSON reads a value with its numbers as they are written.
func decodeJSON(raw []byte) (any, error) {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}
