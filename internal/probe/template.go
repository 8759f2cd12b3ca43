package probe

import (
	"regexp"

	"github.com/yosida95/uritemplate/v3"

	"mcp-all-in-one/internal/i18n"
)

// needed finds the expressions of a URI template whose variables must have a
// value. Parameters ({;x}, {?x}, {&x}) may be left out.
var needed = regexp.MustCompile(`\{[^;?&{}][^{}]*\}`)

// ExpandTemplate fills in the variables of a URI template (RFC 6570).
func ExpandTemplate(template string, values map[string]string) (string, error) {
	t, err := uritemplate.New(template)
	if err != nil {
		return "", i18n.Errorf("the URI template %q is not one of RFC 6570: %w", "URI 模板 %q 不符合 RFC 6570：%w", template, err)
	}
	for _, expression := range needed.FindAllString(template, -1) {
		for _, name := range TemplateVariables(expression) {
			if _, given := values[name]; !given {
				return "", &MissingError{Name: name}
			}
		}
	}
	vars := make(uritemplate.Values, len(values))
	for name, value := range values {
		vars.Set(name, uritemplate.String(oneRunePerByte(value)))
	}
	return t.Expand(vars)
}

// oneRunePerByte makes each byte a rune. The library escapes the number of a
// rune (ü as %FC) where RFC 6570 wants its bytes in UTF-8 (%C3%BC).
func oneRunePerByte(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// TemplateVariables returns the names of the variables of a URI template, in
// their order; none for a template that cannot be read.
func TemplateVariables(template string) []string {
	t, err := uritemplate.New(template)
	if err != nil {
		return nil
	}
	return t.Varnames()
}
