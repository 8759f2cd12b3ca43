package document

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/tailscale/hujson"
)

// appendPlace returns how to lay out a value that is appended to an object or
// list: the extra before it, its indentation, whether it may span several
// lines, and the new extra before the closing bracket. before is the extra
// before the last sibling; after is the current extra before the closing
// bracket.
func (j *jsonEditor) appendPlace(before, after hujson.Extra, indent string, siblings bool) (lead hujson.Extra, own string, multi bool, closing hujson.Extra) {
	own, multi = lineIndent(before)
	if !siblings {
		own, multi = indent+j.unit, j.unit != ""
	}
	comments := bytes.TrimRight(after, " \t\r\n")
	if !multi {
		if len(comments) > 0 && bytes.HasPrefix(bytes.TrimSpace(lastLine(comments)), []byte("//")) {
			return append(bytes.Clone(comments), '\n'), indent, false, hujson.Extra("\n" + indent)
		}
		lead = append(bytes.Clone(comments), ' ')
		if !siblings && len(comments) == 0 {
			lead = nil
		}
		return lead, indent, false, bytes.Clone(after[len(comments):])
	}
	lead = append(bytes.Clone(comments), "\n"+own...)
	closing = hujson.Extra("\n" + indent)
	if in, ok := lineIndent(after); ok && siblings {
		closing = hujson.Extra("\n" + in)
	}
	return lead, own, true, closing
}

func lastLine(b []byte) []byte { return b[bytes.LastIndexByte(b, '\n')+1:] }

// lineIndent returns the white space after the last line break of extra. It
// returns false if there is no line break.
func lineIndent(extra hujson.Extra) (string, bool) {
	i := bytes.LastIndexByte(extra, '\n')
	if i < 0 {
		return "", false
	}
	line := string(extra[i+1:])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))], true
}

// indentUnit returns one level of the file's indentation, or "" if the file is
// a single line.
func indentUnit(data []byte) string {
	if !bytes.Contains(bytes.TrimSpace(data), []byte("\n")) {
		return ""
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		rest := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(rest); n > 0 && len(rest) > 0 && (rest[0] == '"' || rest[0] == '{' || rest[0] == '[') {
			return string(line[:n])
		}
	}
	return "  "
}

// build converts a value to the parser's tree. With multi it spans several
// lines, indented by indent.
func (j *jsonEditor) build(n *Node, indent string, multi bool) hujson.ValueTrimmed {
	inner, closing := hujson.Extra(nil), hujson.Extra(nil)
	own := indent + cmp.Or(j.unit, "  ")
	if multi {
		inner, closing = hujson.Extra("\n"+own), hujson.Extra("\n"+indent)
	}
	switch n.Kind {
	case KindObject:
		o := &hujson.Object{}
		for i, m := range n.Members {
			lead := inner
			if !multi && i > 0 {
				lead = hujson.Extra(" ")
			}
			o.Members = append(o.Members, hujson.ObjectMember{
				Name:  hujson.Value{BeforeExtra: lead, Value: hujson.Literal(Quote(m.Key))},
				Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: j.build(m.Value, own, multi)},
			})
			o.AfterExtra = closing
		}
		return o
	case KindArray:
		a := &hujson.Array{}
		spread := multi && !flat(n)
		for i, item := range n.Items {
			lead := inner
			if !spread {
				lead = nil
				if i > 0 {
					lead = hujson.Extra(" ")
				}
			} else {
				a.AfterExtra = closing
			}
			a.Elements = append(a.Elements, hujson.Value{BeforeExtra: lead, Value: j.build(item, own, spread)})
		}
		return a
	}
	return hujson.Literal(n.AppendJSON(nil, "", ""))
}

// flat reports whether a list fits on one line: it has only scalars, and few
// characters.
func flat(n *Node) bool {
	width := 0
	for _, item := range n.Items {
		if item.Kind >= KindArray {
			return false
		}
		width += len(item.Text) + 4
	}
	return width <= 80
}
