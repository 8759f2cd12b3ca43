package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Violation is one thing that is wrong with a call's arguments.
type Violation struct {
	// Argument names it the way a person would: options.limit.
	Argument string
	// Path is the JSON pointer into the arguments.
	Path string
	// Want and Got say what was expected and what was there.
	Want, Got string
	Message   string
}

const (
	maxViolations = 20
	maxShown      = 80
)

// FailureText tells a caller what is wrong with the arguments of a call.
func FailureText(vs []Violation) string {
	messages := make([]string, len(vs))
	for i, v := range vs {
		messages[i] = v.Message
	}
	return "Argument validation failed: " + strings.Join(messages, "; ")
}

// note adds a complaint about the value at a place.
func (e *evaluation) note(where *at, want, got string) {
	v := violationAt(where)
	v.Want, v.Got = want, got
	v.Message = fmt.Sprintf("Argument '%s': expected %s", v.Argument, want)
	if v.Argument == "" {
		v.Message = "Arguments: expected " + want
	}
	if got != "" {
		v.Message += ", got " + got
	}
	e.add(v)
}

// add keeps a complaint while there are few enough to be read.
func (e *evaluation) add(v Violation) {
	if len(e.found) < 10*maxViolations {
		e.found = append(e.found, v)
	}
}

func (e *evaluation) tell(tell bool, where *at, want, got string) {
	if tell {
		e.note(where, want, got)
	}
}

func (e *evaluation) missing(where *at) {
	v := violationAt(where)
	v.Want = "a value"
	v.Message = fmt.Sprintf("Missing required argument: '%s'", v.Argument)
	e.add(v)
}

// unknown complains about a member that may not be there.
func (e *evaluation) unknown(p *part, where *at) {
	v := violationAt(where)
	v.Want = "no such argument"
	v.Message = fmt.Sprintf("Unknown argument: '%s'. Available: [%s]", v.Argument, strings.Join(p.known(), ", "))
	e.add(v)
}

// known lists the members that a part names, quoted.
func (p *part) known() []string {
	var names []string
	for name := range p.properties {
		names = append(names, "'"+name+"'")
	}
	slices.Sort(names)
	return names
}

// alternatives complains about a value that fits none of several forms. When
// all of them stumble over the value itself, it says what they wanted.
func (e *evaluation) alternatives(parts []*part, v any, where *at, tell bool) {
	if !tell {
		return
	}
	path := violationAt(where).Path
	outer := e.found
	var wants []string
	got := ""
	for _, sub := range parts {
		e.found = nil
		e.check(sub, v, where, nil, true)
		if len(e.found) != 1 || e.found[0].Path != path {
			wants, got = nil, ""
			break
		}
		got = e.found[0].Got
		if !slices.Contains(wants, e.found[0].Want) {
			wants = append(wants, e.found[0].Want)
		}
	}
	e.found = outer
	want := "one of the allowed forms"
	if len(wants) > 0 {
		want = strings.Join(wants, " or ")
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

// sorted puts complaints in the order of their places and keeps the first.
func sorted(found []Violation) []Violation {
	slices.SortFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	found = slices.Compact(found)
	return found[:min(len(found), maxViolations)]
}

func showNumber(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String())
	}
	return clip(strings.TrimRight(r.FloatString(20), "0"))
}

func show(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return typeOf(v)
	}
	return clip(string(raw))
}

func showAll(values []any) string {
	names := make([]string, 0, len(values))
	for _, v := range values {
		names = append(names, show(v))
		if len(names) == maxViolations && len(values) > maxViolations {
			names = append(names, "…")
			break
		}
	}
	return strings.Join(names, ", ")
}

// clip keeps what is quoted short.
func clip(s string) string {
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return s
}
