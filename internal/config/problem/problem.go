// Package problem describes the problems of a config file: where they are, what
// is wrong, and how to fix it, in English and Chinese.
package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// A Severity is the consequence of a problem.
type Severity uint8

// The severities, in rising order.
const (
	SeverityWarning  Severity = iota // the file is used as it is
	SeverityDisabled                 // one server stays off, the others are used
	SeverityError                    // the file is refused
)

// String returns "warning", "disabled" or "error".
func (s Severity) String() string {
	return [...]string{"warning", "disabled", "error"}[s]
}

// MarshalText returns the name of the severity.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Problem is one problem of a file: where it is, what is wrong, and how to
// fix it.
type Problem struct {
	File      string   `json:"file,omitempty"`
	Line      int      `json:"line,omitempty"`   // from 1; 0 if the problem concerns the whole file
	Column    int      `json:"column,omitempty"` // in characters, from 1
	Path      string   `json:"path,omitempty"`   // mcpServers.github.command
	Severity  Severity `json:"severity"`
	Code      string   `json:"code"`
	Message   string   `json:"message"`
	MessageZH string   `json:"messageZH"`
	Hint      string   `json:"hint,omitempty"`
	HintZH    string   `json:"hintZH,omitempty"`
}

// Place returns file:line:column, or only the file if the line is unknown.
func (p Problem) Place() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// String returns the problem on one line, in English.
func (p Problem) String() string { return p.In(i18n.English) }

// In returns the problem on one line, in a language.
func (p Problem) In(l i18n.Lang) string {
	severity, colon, aside := p.Severity.String(), ": ", " (%s)"
	if l == i18n.Chinese {
		p.Message, p.Hint = p.MessageZH, p.HintZH
		severity, colon, aside = [...]string{"警告", "停用", "错误"}[p.Severity], "：", "；%s"
	}
	var b strings.Builder
	if place := p.Place(); place != "" {
		b.WriteString(place + ": ") // the form that editors recognise
	}
	fmt.Fprintf(&b, "%s[%s]%s", severity, p.Code, colon)
	if p.Path != "" {
		b.WriteString(i18n.Seen(p.Path) + colon)
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		fmt.Fprintf(&b, aside, p.Hint)
	}
	return b.String()
}

// LoadError means that a file was refused. It has every problem found,
// including warnings, and at least one error.
type LoadError struct {
	Problems []Problem
}

// Error returns the errors, one per line.
func (e *LoadError) Error() string { return e.In(i18n.English) }

// In returns the errors in a language, one per line.
func (e *LoadError) In(l i18n.Lang) string {
	var lines []string
	for _, p := range e.Problems {
		if p.Severity == SeverityError {
			lines = append(lines, p.In(l))
		}
	}
	return strings.Join(lines, "\n")
}

// Has reports whether one of the problems has that code.
func (e *LoadError) Has(code string) bool {
	return slices.ContainsFunc(e.Problems, func(p Problem) bool { return p.Code == code })
}

// New returns a problem with the texts of code; args are the arguments of its
// message.
func New(sev Severity, code string, args ...any) Problem {
	t := Texts[code]
	p := Problem{Severity: sev, Code: code, Hint: t.Hint, HintZH: t.HintZH}
	p.Message, p.MessageZH = i18n.New(t.En, t.ZH, args...).Both()
	return p
}

// OfFile returns a LoadError about a whole file.
func OfFile(file, code string, args ...any) *LoadError {
	p := New(SeverityError, code, args...)
	p.File = file
	return &LoadError{Problems: []Problem{p}}
}

// WithoutPath removes the path from an error of the file system, because the
// problem already names it.
func WithoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// A Pos is a position in a file. Lines and columns count from 1, columns in
// characters. The zero Pos is the whole file.
type Pos struct{ Line, Col int }

// maxProblems limits how many problems a hostile file can cause.
const maxProblems = 100

// A List collects the problems of one file.
type List struct {
	File     string
	Problems []Problem
}

// Add adds a problem at a position of the file and returns it, so that the
// caller can make its hint more specific.
func (l *List) Add(sev Severity, at Pos, path, code string, args ...any) *Problem {
	p := New(sev, code, args...)
	p.File, p.Line, p.Column, p.Path = l.File, at.Line, at.Col, path
	if len(l.Problems) >= maxProblems && sev < SeverityError {
		return &p
	}
	if len(l.Problems) >= 2*maxProblems {
		return &p
	}
	l.Problems = append(l.Problems, p)
	return &l.Problems[len(l.Problems)-1]
}

// Meant replaces the hint by the name that was probably meant; "" keeps it.
func (p *Problem) Meant(name string) {
	if name != "" {
		p.Hint, p.HintZH = "did you mean "+strconv.Quote(name)+"?", "是否应为 "+strconv.Quote(name)+"？"
	}
}

// Failed reports whether one of the problems is an error.
func (l *List) Failed() bool {
	return slices.ContainsFunc(l.Problems, func(p Problem) bool { return p.Severity == SeverityError })
}

// Err returns a LoadError if one of the problems is an error, else nil.
func (l *List) Err() error {
	if !l.Failed() {
		return nil
	}
	return &LoadError{Problems: l.Problems}
}
