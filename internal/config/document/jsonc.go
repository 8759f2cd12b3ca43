package document

import (
	"errors"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// maxDepth is the maximum nesting of a file; the deepest key needs nine levels.
const maxDepth = 100

// parseJSON reads JSON with comments and trailing commas. It returns nil if it
// has reported a problem.
func parseJSON(data []byte, c *problem.List) *Node {
	lines := NewLines(data)
	if at, deep := jsonDepth(data, maxDepth); deep {
		c.Add(problem.SeverityError, lines.Pos(at), "", problem.Depth, maxDepth)
		return nil
	}
	v, err := hujson.Parse(data)
	if err != nil {
		at, text := jsonError(err, lines)
		c.Add(problem.SeverityError, at, "", problem.Syntax, text)
		return nil
	}
	j := jsonReader{lines: lines, c: c}
	return j.node(v, "")
}

// jsonDepth returns where brackets nest deeper than max. The parser recurses
// without a limit, so this check must come first.
func jsonDepth(data []byte, max int) (at int, deep bool) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			i = skipComment(data, i)
		case '{', '[':
			if depth++; depth > max {
				return i, true
			}
		case '}', ']':
			depth--
		}
	}
	return 0, false
}

// skipComment returns the offset of the last byte of the comment at i, or i.
func skipComment(data []byte, i int) int {
	if i+1 >= len(data) {
		return i
	}
	switch data[i+1] {
	case '/':
		for i < len(data) && data[i] != '\n' {
			i++
		}
		return i
	case '*':
		for i += 2; i+1 < len(data); i++ {
			if data[i] == '*' && data[i+1] == '/' {
				return i + 1
			}
		}
		return len(data)
	}
	return i
}

var hujsonPlace = lazy.Regexp(`(?s)^hujson: line (\d+), column (\d+): (.*)$`)

// jsonError extracts the position from the parser's error text.
func jsonError(err error, lines Lines) (problem.Pos, i18n.Text) {
	m := hujsonPlace().FindStringSubmatch(err.Error())
	if m == nil {
		return problem.Pos{Line: 1, Col: 1}, i18n.Plain(err.Error())
	}
	line, _ := strconv.Atoi(m[1])
	col, _ := strconv.Atoi(m[2])
	offset := lines.starts[line-1] + col - 1
	at := lines.Pos(offset)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return at, endOf(m[3])
	}
	if offset < len(lines.data) {
		if wide, _ := utf8.DecodeRune(lines.data[offset:]); strings.ContainsRune(wideMarks, wide) {
			return at, i18n.New("use the ASCII character %[1]s here, not %[2]s", "此处请用半角字符 %[1]s，而不是 %[2]s", asciiMark(wide), string(wide))
		}
		switch c := rune(lines.data[offset]); {
		case c == '#':
			return at, i18n.New("# begins no comment in JSON; // does", "# 在 JSON 中不是注释的开头；请用 //")
		case c == '\'':
			return at, i18n.New("use double quotes in JSON, not single ones", "JSON 中请用双引号，而不是单引号")
		case strings.Contains(m[3], "(expecting ','") && !strings.ContainsRune(":]}", c):
			return at, i18n.New("a comma is missing before this value", "此值之前缺少逗号")
		}
	}
	text, _, _ := strings.Cut(m[3], "invalid literal:") // the rest of the text may be a secret
	if text == "" {
		return at, i18n.New("not a valid string, number, true, false or null", "不是有效的字符串、数字、true、false 或 null")
	}
	return at, i18n.JSONSyntax(text)
}

// endOf says in the middle of what the file ends.
func endOf(parsing string) i18n.Text {
	switch {
	case strings.HasPrefix(parsing, "parsing string"):
		return i18n.New("the file ends in the middle of a string", "文件在字符串的中间结束")
	case strings.HasPrefix(parsing, "parsing comment"):
		return i18n.New("the file ends in the middle of a comment", "文件在注释的中间结束")
	}
	return i18n.New("the file ends in the middle of a value", "文件在值的中间结束")
}

// wideMarks are what a Chinese input method types for the characters of JSON.
const wideMarks = "“”„＂‘’：，、｛｝［］【】"

func asciiMark(wide rune) string {
	switch wide {
	case '：':
		return ":"
	case '，', '、':
		return ","
	case '｛':
		return "{"
	case '｝':
		return "}"
	case '［', '【':
		return "["
	case '］', '】':
		return "]"
	}
	return `"`
}

// PlainJSON removes comments and trailing commas. An error names the line.
func PlainJSON(data []byte) ([]byte, error) {
	lines := NewLines(data)
	if at, deep := jsonDepth(data, maxDepth); deep {
		return nil, i18n.Errorf("line %d: nested more than %d levels deep", "第 %d 行：嵌套超过 %d 层", lines.Pos(at).Line, maxDepth)
	}
	plain, err := hujson.Standardize(slices.Clone(data))
	if err != nil {
		at, text := jsonError(err, lines)
		return nil, AtPlace(at, text)
	}
	return plain, nil
}

// AtPlace returns an error at a position of a file.
func AtPlace(at problem.Pos, text i18n.Text) error {
	return i18n.Errorf("line %d, column %d: %v", "第 %d 行第 %d 列：%v", at.Line, at.Col, text)
}

// jsonReader converts the parser's tree to Nodes.
type jsonReader struct {
	lines Lines
	c     *problem.List
}

func (j *jsonReader) node(v hujson.Value, path string) *Node {
	n := &Node{Pos: j.lines.Pos(v.StartOffset)}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.Kind = KindObject
		n.Members = make([]Member, 0, len(t.Members))
		seen := make(map[string]problem.Pos, len(t.Members))
		for _, m := range t.Members {
			key := m.Name.Value.(hujson.Literal).String()
			at := j.lines.Pos(m.Name.StartOffset)
			child := Join(path, key)
			if first, dup := seen[key]; dup {
				j.c.Add(problem.SeverityError, at, child, problem.Duplicate, key, first.Line, first.Col)
				continue
			}
			seen[key] = at
			n.Members = append(n.Members, Member{Pos: at, Key: key, Value: j.node(m.Value, child)})
		}
	case *hujson.Array:
		n.Kind = KindArray
		for i, e := range t.Elements {
			n.Items = append(n.Items, j.node(e, path+"["+strconv.Itoa(i)+"]"))
		}
	case hujson.Literal:
		n.Text = t.String()
		n.Raw = n.Text
		switch t.Kind() {
		case '"':
			n.Kind = KindString
		case '0':
			n.Kind = KindNumber
		case 't', 'f':
			n.Kind = KindBool
		}
	}
	return n
}

// Join adds a key to a path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Lines converts offsets to positions.
type Lines struct {
	data   []byte
	starts []int
}

// NewLines indexes the lines of a text.
func NewLines(data []byte) Lines {
	starts := []int{0}
	for i, b := range data {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return Lines{data, starts}
}

// Pos returns the position of an offset.
func (l Lines) Pos(offset int) problem.Pos {
	offset = min(offset, len(l.data))
	line := sort.SearchInts(l.starts, offset+1)
	start := l.starts[line-1]
	return problem.Pos{Line: line, Col: 1 + utf8.RuneCount(l.data[start:offset])}
}
