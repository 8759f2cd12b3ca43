package probe

import (
	"strings"

	"github.com/itchyny/gojq"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// Places selects places in a JSON value by a jq path: .items[].id, .. |
// .updated_at?, .["odd name"][0].
type Places struct{ paths *gojq.Code }

// ParsePlaces parses a jq path. The first dot may be omitted.
func ParsePlaces(text string) (Places, error) {
	if strings.HasPrefix(text, "$") {
		return Places{}, i18n.Errorf("paths are those of jq; instead of %s, write %s", "路径采用 jq 语法；请将 %s 写作 %s", text, fromJSONPath(text))
	}
	paths, err := compilePaths(text)
	if err != nil {
		if dotted, other := compilePaths("." + text); other == nil {
			return Places{dotted}, nil
		}
		return Places{}, i18n.Errorf("reading the path %q: %w", "解析路径 %q 失败：%w", text, err)
	}
	return Places{paths}, nil
}

// compilePaths compiles the query that lists the paths of an expression. It
// also runs the query on null, because an expression that is not a path, such
// as .a + 1, fails there.
func compilePaths(expression string) (*gojq.Code, error) {
	if _, err := gojq.Parse(expression); err != nil {
		return nil, jqError(err)
	}
	query, err := gojq.Parse("path(" + expression + "\n)")
	if err != nil {
		return nil, jqError(err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, jqError(err)
	}
	if v, ok := code.Run(nil).Next(); ok {
		if err, failed := v.(error); failed && strings.HasPrefix(err.Error(), "invalid path") {
			return nil, jqError(err)
		}
	}
	return code, nil
}

var (
	anywhere    = lazy.Regexp(`\.\.(\w+)`)
	fromBracket = strings.NewReplacer("[*]", "[]", ".*", "[]", "['", `["`, "']", `"]`)
)

// fromJSONPath translates a path from the syntax of earlier versions.
func fromJSONPath(text string) string {
	text = anywhere().ReplaceAllString(fromBracket.Replace(strings.TrimPrefix(text, "$")), "..|.$1?")
	if !strings.HasPrefix(text, ".") {
		return "." + text
	}
	return text
}

// maxPlaces limits an expression that yields places without end.
const maxPlaces = 100_000

// each calls visit for every existing place, with the value that contains it
// and the name or index in that value. It stops when the expression fails.
func (p Places) each(value any, visit func(holder, key any)) {
	iter := p.paths.Run(value)
	for range maxPlaces {
		v, ok := iter.Next()
		path, isPath := v.([]any)
		if !ok || !isPath {
			return
		}
		var holder, key any
		at, exists := value, true
		for _, step := range path {
			holder, key = at, step
			if at, exists = memberOf(at, step); !exists {
				break
			}
		}
		if exists {
			visit(holder, key)
		}
	}
}

func memberOf(value, key any) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		name, _ := key.(string)
		member, ok := v[name]
		return member, ok
	case []any:
		if i, ok := key.(int); ok && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// Find returns every value that the path selects.
func (p Places) Find(value any) []any {
	var found []any
	p.each(value, func(holder, key any) {
		if holder == nil {
			found = append(found, value)
			return
		}
		member, _ := memberOf(holder, key)
		found = append(found, member)
	})
	return found
}

// Remove removes the selected values and returns the rest. Elements of arrays
// become null.
func (p Places) Remove(value any) any {
	type place struct{ holder, key any }
	var places []place
	p.each(value, func(holder, key any) { places = append(places, place{holder, key}) })
	for _, at := range places {
		switch holder := at.holder.(type) {
		case nil:
			return nil
		case map[string]any:
			delete(holder, at.key.(string))
		case []any:
			holder[at.key.(int)] = nil
		}
	}
	return value
}
