package cli

import (
	"os"
	"strings"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// A colour is a way to paint on a terminal.
type colour string

const (
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	dim    colour = "2"
)

// paint colours text for standard error, where a person sees it.
func (a *app) paint(c colour, text string) string {
	if !a.colours(a.Stderr) {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// colours says whether what is written to w is shown in colour.
func (a *app) colours(w any) bool {
	if v, ok := a.Getenv("NO_COLOR"); ok && v != "" {
		return false
	}
	if v, ok := a.Getenv("CLICOLOR_FORCE"); ok && v != "" && v != "0" {
		return true
	}
	if v, _ := a.Getenv("TERM"); v == "dumb" {
		return false
	}
	return isTerminal(w)
}

// isTerminal says whether a person is at the other end of a file.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// textWidth is how many columns a text takes; East Asian characters take two.
func textWidth(s string) int {
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

func padRight(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-textWidth(s)))
}
