package env

import (
	"os"
	"strings"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// A Colour is an ANSI colour code.
type Colour string

const (
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Dim    Colour = "2"
)

// Paint colours text for stderr, if stderr shows colours.
func (a *Env) Paint(c Colour, text string) string {
	if !a.colours(a.Stderr) {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// colours reports whether output to w is shown in colour.
func (a *Env) colours(w any) bool {
	if v, ok := a.Getenv("NO_COLOR"); ok && v != "" {
		return false
	}
	if v, ok := a.Getenv("CLICOLOR_FORCE"); ok && v != "" && v != "0" {
		return true
	}
	if v, _ := a.Getenv("TERM"); v == "dumb" {
		return false
	}
	return IsTerminal(w)
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f any) bool {
	if o, ok := f.(*output); ok {
		f = o.Writer
	}
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// TextWidth returns the width of a text in columns; East Asian characters take
// two.
func TextWidth(s string) int {
	n := 0
	for _, r := range s {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

func PadRight(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-TextWidth(s)))
}
