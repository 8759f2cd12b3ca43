package say

import (
	"regexp"
	"strings"
	"sync"
)

// Parser is the text of a parser that is not ours (encoding/json, hujson,
// go-yaml, gojq), which has no error types to tell one fault from another.
func Parser(text string) Text {
	if zh, ok := faults()[text]; ok {
		return Pair(text, zh)
	}
	if m := place().FindStringSubmatch(text); m != nil {
		return Pair(text, "第 "+m[1]+" 行第 "+m[2]+" 列："+Parser(m[3]).In(Chinese))
	}
	for _, s := range shapes() {
		if m := s.en.FindStringSubmatchIndex(text); m != nil {
			return Pair(text, string(s.en.ExpandString(nil, s.zh, text, m)))
		}
	}
	if rest, ok := strings.CutPrefix(text, "invalid character "); ok {
		return Pair(text, "无效字符 "+places().Replace(rest))
	}
	return Plain(text)
}

// place is where hujson begins, before it says what.
var place = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^hujson: line (\d+), column (\d+): (.*)$`) })

// places are where the JSON parsers find a character that must not be there.
// It and the tables below are made when they are first needed: most runs of
// the program read nothing wrong.
var places = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(
		" at start of value", "（值的开头）", " looking for beginning of value", "（应为值的开头）",
		" at start of object name", "（键的开头）", " looking for beginning of object key string", "（应为键的开头）",
		" after object name", "（对象的键之后）", " after object key:value pair", "（对象的值之后）", " after object key", "（对象的键之后）",
		" after object value", "（对象的值之后）", " after array value", "（数组的值之后）", " after array element", "（数组的值之后）",
		" after top-level value", "（顶层值之后）", " at start of comment", "（注释的开头）",
		" after decimal point in numeric literal", "（数字的小数点之后）", " in exponent of numeric literal", "（数字的指数中）",
		" in numeric literal", "（数字中）", " in string escape code", "（字符串的转义中）", " in string literal", "（字符串中）",
		` in \u hexadecimal character escape`, `（字符串的 \u 转义中）`,
		" in literal true", "（true 中）", " in literal false", "（false 中）", " in literal null", "（null 中）",
		" (expecting ", "，应为 ", " or ", " 或 ", ")", "",
	)
})

// A shape is a text with a value in it.
type shape struct {
	en *regexp.Regexp
	zh string
}

// shapes are texts with a value in them.
var shapes = sync.OnceValue(func() []shape {
	return []shape{
		{regexp.MustCompile(`^found unknown escape character (.+)$`), "未知的转义字符 $1"},
		{regexp.MustCompile(`^found invalid tag character (.+)$`), "标签中有无效字符 $1"},
		{regexp.MustCompile(`^(.+) is a reserved character$`), "$1 是保留字符"},
		{regexp.MustCompile(`^unknown YAML version (.+)$`), "未知的 YAML 版本 $1"},
		{regexp.MustCompile(`^cannot assign default value for (.+) tag$`), "标签 $1 没有默认值"},
		{regexp.MustCompile(`^invalid header option: (.+)$`), "多行文本的选项无效：$1"},
		{regexp.MustCompile(`^(?:found )?character (.+?) (?:that )?cannot start any token$`), "此处不能以字符 $1 开头"},
		{regexp.MustCompile(`^mapping key (.+) already defined at \[(\d+):(\d+)\]$`), "键 $1 重复，首次出现在第 $2 行第 $3 列"},
		{regexp.MustCompile(`^unexpected token (.+)$`), "此处不能出现 $1"},
		{regexp.MustCompile(`^expected an? (.+) but got: (.+)$`), "应为 $1，实际为 $2"},
		{regexp.MustCompile(`^cannot iterate over: (.+)$`), "无法遍历 $1"},
		{regexp.MustCompile(`^function not defined: (.+)$`), "没有定义函数 $1"},
		{regexp.MustCompile(`^variable not defined: (.+)$`), "没有定义变量 $1"},
		{regexp.MustCompile(`^(.+) was used where (.+) is expected$`), "应为 $2，实际为 $1"},
		{regexp.MustCompile(`(?s)^invalid literal: (.*)$`), "无效的值 $1"},
		{regexp.MustCompile(`^unknown field (.+)$`), "未知的键 $1"},
		{regexp.MustCompile(`^json: unknown field (.+)$`), "未知的键 $1"},
		{regexp.MustCompile(`^cannot unmarshal (.+) into Go struct field (.+) of type (.+)$`), "$2 的类型应为 $3，实际为 $1"},
		{regexp.MustCompile(`^cannot unmarshal (.+) into Go value of type (.+)$`), "值的类型应为 $2，实际为 $1"},
	}
})
