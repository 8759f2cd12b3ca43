package jsonschema

import (
	"bytes"
	"encoding/json"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/pattern"
)

// Limits for the cost of a server's schema and of one validation.
const (
	maxSchemaBytes = 1 << 20
	maxSubschemas  = 10_000
	maxSchemaDepth = 256
	maxPattern     = 20_000      // size of one pattern
	maxPatterns    = 50_000      // size of all patterns together
	maxMatching    = 20_000_000  // steps of a pattern times the bytes of the text
	maxSteps       = 200_000     // checks of a value against a subschema
	maxEvaluation  = 1_000       // levels of nested subschemas
	maxWork        = 200_000_000 // bytes and members visited, plus steps of patterns
)

// workFor returns how much of maxWork a validation of arguments of the given
// size may use. It keeps the memory of the validation below a hundred times
// their size.
func workFor(size int) int { return min(maxWork, 20_000_000+200*size) }

func withinBudget(schema []byte) error {
	if len(schema) > maxSchemaBytes {
		return i18n.Errorf("the schema has more than %d bytes", "schema 超过 %d 字节", maxSchemaBytes)
	}
	count, depth, deepest := 0, 0, 0
	inString := false
	for i := 0; i < len(schema); i++ {
		switch c := schema[i]; {
		case c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
			if c == '{' {
				count++
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	if count > maxSubschemas {
		return i18n.Errorf("the schema has more than %d parts", "schema 超过 %d 个部分", maxSubschemas)
	}
	if deepest > maxSchemaDepth {
		return i18n.Errorf("the schema is nested more than %d levels deep", "schema 嵌套超过 %d 层", maxSchemaDepth)
	}
	return nil
}

// decode reads JSON and keeps numbers as written.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, i18n.Errorf("reading JSON: %v", "读取 JSON 失败：%v", err)
	}
	return v, nil
}

// compilePattern returns nil for a pattern that RE2 cannot compile
// (look-around, back references) or that would cost too much; the server then
// has to check it. Beyond maxPatterns it compiles nothing more.
func (d *document) compilePattern(text string) *pattern.Pattern {
	if d.listing || d.patterns > maxPatterns {
		return nil
	}
	p, err := pattern.Compile(text, maxPattern)
	d.patterns += min(p.Size, maxPattern)
	if err != nil {
		return nil
	}
	return &p
}

// matches reports whether s matches. It also returns true if s is too long to
// check.
func (e *evaluation) matches(p *pattern.Pattern, s string) bool {
	cost := p.Steps * len(s)
	return cost > maxMatching || !e.spend(cost) || p.Regexp.MatchString(s)
}
