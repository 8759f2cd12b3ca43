package i18n

import (
	"strings"

	"mcp-all-in-one/internal/lazy"
)

// ofCharacter has the words of encoding/json and hujson for a character that
// cannot stand where it is.
var ofCharacter = lazy.Regexp(`^invalid character (.+?) (looking for .*|at start of .*|after .*|in .*)$`)

// expected is what should have been there, by the words of the parsers.
var expected = []struct{ where, zh string }{
	{"looking for beginning of object key", "此处应为带双引号的键"}, {"at start of object name", "此处应为带双引号的键"},
	{"looking for beginning of value", "此处应为一个值"}, {"at start of value", "此处应为一个值"},
	{"after object key:value pair", "此处应为 , 或 }"}, {"after object value", "此处应为 , 或 }"},
	{"after object", "此处应为 :"},
	{"after array", "此处应为 , 或 ]"},
}

// JSONSyntax translates what parsers of JSON say of a text that is not JSON.
func JSONSyntax(said string) Text {
	if said == "unexpected end of JSON input" || said == "unexpected EOF" {
		return New(said, "内容在中途结束")
	}
	m := ofCharacter().FindStringSubmatch(said)
	if m == nil {
		return Plain(said)
	}
	// encoding/json names the first byte of a character, as if it were Latin-1.
	if strings.ContainsAny(m[1], "âãï") {
		return Pair(said, `此处请用半角 " : ,（现为全角字符）`)
	}
	if m[2] == "after top-level value" {
		return Pair(said, "JSON 值在此之前已结束，不应再有 "+m[1])
	}
	for _, e := range expected {
		if strings.HasPrefix(m[2], e.where) {
			return Pair(said, e.zh+"，而不是 "+m[1])
		}
	}
	return Pair(said, "此处不应出现 "+m[1])
}
