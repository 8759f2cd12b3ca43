package document

import (
	"bytes"
	"strings"

	"github.com/tailscale/hujson"
)

// appendPlace says how a value appended to an object or list is led in: its
// leading extra, its indentation, whether it may take several lines, and the
// extra that then stands before the closing bracket. before is the extra of
// the last sibling, after what stands before the closing bracket now.
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

// lineIndent returns the white space between the last line break of extra
// and its end; false when there is no line break.
func lineIndent(extra hujson.Extra) (string, bool) {
	i := bytes.LastIndexByte(extra, '\n')
	if i < 0 {
		return "", false
	}
	line := string(extra[i+1:])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))], true
}

// indentUnit is one level of the file's own indentation; "" when the file is
// one line.
func indentUnit(data []byte) string {
	if !bytes.Contains(bytes.TrimSpace(data), []byte("\n")) {
		return ""
	}
	for _, line := range bytes.Split(data, []byte("\n")) {
		rest := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(rest); n > 0 && len(rest) > 0 && (rest[0] == '"' || rest[0] == '{' || rest[0] == '[') {
			return string(line[:n])
		}
	}
	return "  "
}

// build makes the parser's tree of a value; multi spreads it over lines that
// start at indent.
func (j *jsonEditor) build(n *Node, indent string, multi bool) hujson.ValueTrimmed {
	inner, closing := hujson.Extra(nil), hujson.Extra(nil)
	if multi {
		inner, closing = hujson.Extra("\n"+indent+j.step()), hujson.Extra("\n"+indent)
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
				Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: j.build(m.Value, indent+j.step(), multi)},
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
			a.Elements = append(a.Elements, hujson.Value{BeforeExtra: lead, Value: j.build(item, indent+j.step(), spread)})
		}
		return a
	}
	return hujson.Literal(n.AppendJSON(nil, "", ""))
}

func (j *jsonEditor) step() string {
	if j.unit == "" {
		return "  "
	}
	return j.unit
}

// flat reports whether a list reads well on one line: scalars, and not many
// characters of them.
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
