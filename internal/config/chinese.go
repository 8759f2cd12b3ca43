package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// verb is a place of a message for a value.
var verb = regexp.MustCompile(`%(\[\d\])?[a-z]`)

// inChinese translates what the arguments of a message say of ours. What is
// quoted comes from the file and stays as it is.
func inChinese(format string, args []any) []any {
	out := slices.Clone(args)
	for i, v := range verb.FindAllString(format, -1) {
		if v == "%s" && i < len(args) {
			out[i] = chineseOf(fmt.Sprint(args[i]))
		}
	}
	return out
}

func chineseOf(text string) string {
	if zh, ok := phrases[text]; ok {
		return zh
	}
	if what, ok := strings.CutPrefix(text, "invalid character "); ok {
		return "无效字符 " + invalidPlaces.Replace(what)
	}
	for _, p := range openings {
		if rest, ok := strings.CutPrefix(text, p.en); ok {
			return p.zh + chineseOf(rest)
		}
	}
	return text
}

// invalidPlaces are where the JSON parser finds a character that must not be
// there.
var invalidPlaces = strings.NewReplacer(
	" at start of value", "（值的开头）", " at start of object name", "（键的开头）", " after object name", "（对象的键之后）",
	" after object value", "（对象的值之后）", " after array value", "（数组的值之后）", " after array element", "（数组的值之后）",
	" after top-level value", "（顶层值之后）", " at start of comment", "（注释的开头）",
	" (expecting ", "，应为 ", " or ", " 或 ", ")", "",
)

// openings are how texts begin that go on with a value.
var openings = []struct{ en, zh string }{
	{"byte ", "字节 "},
	{"mode ", "权限 "},
	{"it belongs to user ", "属于用户 "},
	{"the file ends in the middle of a value: ", "文件在值的中间结束："},
	{"the YAML parser gave up: ", "YAML 解析器无法继续："},
	{"no anchor stands before alias ", "别名之前没有锚点："},
	{"cannot be used here: ", "此处不能使用："},
}

// phrases are the words that messages are put together from.
var phrases = map[string]string{
	"a boolean": "布尔值", "a number": "数字", "a string": "字符串", "a list": "数组", "an object": "对象",
	"a duration": "时长", "a size": "大小", "a whole number": "整数", `a list of names or "all"`: `名称数组或 "all"`,
	`a duration such as "30s", or a number of milliseconds`: `时长（如 "30s"，或毫秒数）`,
	`a size such as "10MiB", or a number of bytes`:          `大小（如 "10MiB"，或字节数）`,

	"a directory": "目录", "a pipe": "管道", "a device": "设备", "a socket": "套接字", "something else": "其他类型",
	"UTF-16 without a byte order mark": "无字节序标记的 UTF-16",
	"permission denied":                "没有权限", "is a directory": "是目录",

	"is empty": "名称为空", "is missing": "缺少名称", "is too long": "名称过长", "is not allowed": "不允许使用",
	"has white space in it": "含有空白字符", "has one of $ { } in it": "含有 $ { } 之一",
	"has a character in it that does not show": "含有不可见字符",
	"is taken by a URL of the gateway":         "已被网关的 URL 占用",

	"a url": "url", "a command": "command",
	"cannot be read": "无法解析", "is neither http nor https": "既不是 http 也不是 https", "names no host": "没有主机名",
	"is not an http address": "不是 http 地址", "is not a file:// URI": "不是 file:// URI",
	"is not the https address of an issuer":              "不是签发者的 https 地址",
	"auto, legacy, modern, or a date such as 2025-11-25": "auto、legacy、modern，或如 2025-11-25 的日期",
	"a network such as 10.0.0.0/8":                       "如 10.0.0.0/8 的网段",
	"the header":                                         "请求头", "a line break or NUL": "换行或 NUL", "the text": "文本", "a NUL character": "NUL 字符",

	"it never goes with credentials": "它不能与 credentials 同用", "any web page could use the gateway": "任何网页都能使用网关",
	"a delimiter is one control character":          "分隔符应为一个控制字符",
	"it names no server":                            "它不对应任何服务",
	"the client asks, not the gateway":              "由客户端询问，而不是网关",
	"write the variables into env":                  "请把变量写入 env",
	"every server is watched all the time":          "每个服务始终受到监视",
	"limits.handshake bounds a greeting":            "由 limits.handshake 限定握手时间",
	"retries of a server says when it is down":      "由服务的 retries 决定何时判定为不可用",
	"write ${secret:name} instead of ${input:name}": "请用 ${secret:name} 代替 ${input:name}",

	"not a valid string, number, true, false or null":        "不是有效的字符串、数字、true、false 或 null",
	"parsing value: unexpected EOF":                          "缺少值",
	"parsing object after name: unexpected EOF":              "对象的键之后缺少内容",
	"parsing object after value: unexpected EOF":             "对象的值之后缺少内容",
	"parsing array after value: unexpected EOF":              "数组的值之后缺少内容",
	"parsing string: unexpected EOF":                         "字符串没有结束",
	"parsing comment: unexpected EOF":                        "注释没有结束",
	"a second document starts here; a file holds one":        "此处开始了第二个文档；一个文件只能有一个文档",
	"<< needs an alias of an object":                         "<< 之后应为对象的别名",
	"an object with more than 20,000 keys; write it as JSON": "对象的键超过 20,000 个；请改用 JSON",
}
