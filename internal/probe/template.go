package probe

import (
	"github.com/yosida95/uritemplate/v3"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// needed finds the expressions of a URI template whose variables need a value.
// Parameters ({;x}, {?x}, {&x}) are optional.
var needed = lazy.Regexp(`\{[^;?&{}][^{}]*\}`)

// ExpandTemplate expands a URI template (RFC 6570).
func ExpandTemplate(template string, values map[string]string) (string, error) {
	t, err := uritemplate.New(template)
	if err != nil {
		return "", i18n.Errorf("%q is not a URI template of RFC 6570: %w", "%q 不是 RFC 6570 的 URI 模板：%w", template, err)
	}
	for _, expression := range needed().FindAllString(template, -1) {
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

// oneRunePerByte turns each byte into a rune. The library escapes the code
// point of a rune (ü as %FC), but RFC 6570 requires its UTF-8 bytes (%C3%BC).
func oneRunePerByte(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// TemplateVariables returns the variable names of a URI template, in order;
// none for an invalid template.
func TemplateVariables(template string) []string {
	t, err := uritemplate.New(template)
	if err != nil {
		return nil
	}
	return t.Varnames()
}
