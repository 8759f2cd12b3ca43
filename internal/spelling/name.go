package spelling

import (
	"strings"
	"unicode"

	"mcp-all-in-one/internal/i18n"
)

// maxName is the maximum length of a name, in characters.
const maxName = 256

// Fault returns the problem with the name of a server, a schema or a secret;
// empty if there is none.
func Fault(name string) i18n.Text {
	if name == "" {
		return i18n.New("is empty", "名称为空")
	}
	if name == "." || name == ".." {
		return i18n.New("means a directory in paths and is removed from URLs", "在路径中表示目录，并会从 URL 中被去除")
	}
	if len([]rune(name)) > maxName {
		return i18n.New("is too long", "名称过长")
	}
	for _, r := range name {
		switch {
		case unicode.IsSpace(r):
			return i18n.New("has white space in it", "含有空白字符")
		case strings.ContainsRune("${}", r):
			return i18n.New("has one of $ { } in it", "含有 $ { } 之一")
		case unicode.IsControl(r) || !unicode.IsPrint(r):
			return i18n.New("has a character in it that does not show", "含有不可见字符")
		}
	}
	return i18n.Text{}
}
