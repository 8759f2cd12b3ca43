package jsonschema

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// Violation is one error in a call's arguments.
type Violation struct {
	// Argument is the readable name of the argument: options.limit.
	Argument string
	// Path is the JSON pointer into the arguments.
	Path string
	// Want and Got are the expected and the actual value.
	Want, Got i18n.Text
	Message   i18n.Text
	// Unknown reports that there is no such argument.
	Unknown bool
}

const (
	maxViolations = 20
	maxShown      = 80
)

// Violations are the errors in the arguments of a tool.
type Violations []Violation

func (vs Violations) Error() string { return vs.In(i18n.English) }

// In returns the violations in the given language.
func (vs Violations) In(l i18n.Lang) string {
	messages := make([]string, len(vs))
	for i, v := range vs {
		messages[i] = v.Message.In(l)
	}
	return i18n.New("Argument validation failed: %s", "参数校验失败：%s", strings.Join(messages, "; ")).In(l)
}

// note records a violation at a location.
func (e *evaluation) note(where *at, want, got i18n.Text) {
	v := violationAt(where)
	v.Want, v.Got = want, got
	v.Message = i18n.New("Argument '%s': expected %v", "参数 '%s'：应为 %v", v.Argument, want)
	if v.Argument == "" {
		v.Message = i18n.New("Arguments: expected %v", "参数：应为 %v", want)
	}
	if !got.Empty() {
		v.Message = i18n.New("%v, got %v", "%v，实际为 %v", v.Message, got)
	}
	e.add(v)
}

// add records a violation unless there are too many to read.
func (e *evaluation) add(v Violation) {
	if len(e.found) < 10*maxViolations {
		e.found = append(e.found, v)
	}
}

func (e *evaluation) tell(tell bool, where *at, want, got i18n.Text) {
	if tell {
		e.note(where, want, got)
	}
}

func (e *evaluation) missing(where *at) {
	v := violationAt(where)
	v.Want = i18n.New("a value", "一个值")
	v.Message = i18n.New("Missing required argument: '%s'", "缺少必需的参数：'%s'", v.Argument)
	e.add(v)
}

// unknown records a violation for a member that is not allowed.
func (e *evaluation) unknown(p *part, where *at) {
	v := violationAt(where)
	v.Want, v.Unknown = i18n.New("no such argument", "没有这个参数"), true
	v.Message = i18n.New("Unknown argument: '%s'. Available: [%s]", "未知参数：'%s'。可用：[%s]", v.Argument, strings.Join(p.known(), ", "))
	e.add(v)
}

// known returns the quoted names of the members that a part defines.
func (p *part) known() []string {
	var names []string
	for name := range p.properties {
		names = append(names, "'"+name+"'")
	}
	slices.Sort(names)
	return names
}

// alternatives records the violation for a value that matches none of several
// schemas. If all of them reject the value itself, the violation lists what
// they expect.
func (e *evaluation) alternatives(parts []*part, v any, where *at, tell bool) {
	if !tell {
		return
	}
	path := violationAt(where).Path
	outer := e.found
	var wants []i18n.Text
	var got i18n.Text
	for _, sub := range parts {
		e.found = nil
		e.check(sub, v, where, nil, true)
		if len(e.found) != 1 || e.found[0].Path != path {
			wants, got = nil, i18n.Text{}
			break
		}
		got = e.found[0].Got
		if want := e.found[0].Want; !slices.ContainsFunc(wants, func(t i18n.Text) bool { return t.String() == want.String() }) {
			wants = append(wants, want)
		}
	}
	e.found = outer
	if len(wants) == 0 {
		e.note(where, i18n.New("a value that matches one of the allowed schemas", "符合某个允许的 schema 的值"), got)
		return
	}
	want := wants[0]
	for _, other := range wants[1:] {
		want = i18n.New("%v or %v", "%v 或 %v", want, other)
	}
	e.note(where, want, got)
}

func violationAt(where *at) Violation {
	tokens := where.tokens()
	var pointer strings.Builder
	for _, token := range tokens {
		pointer.WriteString("/" + escapePointer(token))
	}
	return Violation{Argument: strings.Join(tokens, "."), Path: pointer.String()}
}

// sorted sorts violations by path and keeps the first ones.
func sorted(found []Violation) []Violation {
	sort.Slice(found, func(i, j int) bool {
		a, b := &found[i], &found[j]
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message.String(), b.Message.String())) < 0
	})
	found = slices.CompactFunc(found, func(a, b Violation) bool { return a.Path == b.Path && a.Message.String() == b.Message.String() })
	return found[:min(len(found), maxViolations)]
}

func showAll(values []any) string {
	names := make([]string, 0, len(values))
	for _, v := range values {
		names = append(names, clip(string(quote(v).out)))
		if len(names) == maxViolations && len(values) > maxViolations {
			names = append(names, "…")
			break
		}
	}
	return strings.Join(names, ", ")
}

// clip shortens a quoted value.
func clip(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxShown {
			return s[:i] + "…"
		}
	}
	return s
}
