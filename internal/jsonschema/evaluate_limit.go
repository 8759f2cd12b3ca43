package jsonschema

import (
	"strings"

	"mcp-all-in-one/internal/i18n"
)

func typesText(types []string) i18n.Text {
	return i18n.Pair(strings.Join(types, " or "), strings.Join(types, " 或 "))
}

func (l limit) fits(n decimal) bool {
	c := n.compare(l.bound)
	switch l.keyword {
	case "minimum":
		return c >= 0
	case "maximum":
		return c <= 0
	case "exclusiveMinimum":
		return c > 0
	case "exclusiveMaximum":
		return c < 0
	case "multipleOf":
		return n.multipleOf(l.bound)
	}
	return true
}

// text describes the accepted values.
func (l limit) text() i18n.Text {
	bound := l.written
	switch l.keyword {
	case "minimum":
		return i18n.New("at least %s", "不小于 %s 的值", bound)
	case "maximum":
		return i18n.New("at most %s", "不大于 %s 的值", bound)
	case "exclusiveMinimum":
		return i18n.New("more than %s", "大于 %s 的值", bound)
	case "exclusiveMaximum":
		return i18n.New("less than %s", "小于 %s 的值", bound)
	}
	return i18n.New("a multiple of %s", "%s 的倍数", bound)
}
