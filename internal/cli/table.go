package cli

import (
	"fmt"
	"strings"
)

// A table is rows for a person on a terminal, and for a script behind a pipe:
// there it has no head, no colour, and tabs between its columns.
type table struct {
	head []string
	rows [][]string
	// paint chooses the colour of a cell; nil paints nothing.
	paint func(column int, cell string) colour
	// word is what a person reads for a cell that scripts look at; nil where
	// both read the same.
	word func(column int, cell string) string
	// none is said on standard error where there are no rows.
	none string
	// aligned makes it one for a person behind a pipe too.
	aligned bool
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the table to standard output.
func (a *app) print(t *table) {
	if len(t.rows) == 0 && t.none != "" {
		fmt.Fprintln(a.Stderr, t.none)
		return
	}
	if !isTerminal(a.Stdout) && !t.aligned {
		for _, row := range t.rows {
			for i, cell := range row {
				row[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(cell)
			}
			fmt.Fprintln(a.Stdout, strings.Join(row, "\t"))
		}
		return
	}
	widths := make([]int, len(t.head))
	for n, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], textWidth(t.shown(n, i, cell)))
		}
	}
	colours := a.colours(a.Stdout)
	for n, row := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			text := t.shown(n, i, cell)
			if i < len(row)-1 { // a last column that is wider than the window would push the next line away
				text = padRight(text, widths[i])
			}
			switch {
			case !colours:
			case n == 0:
				text = "\x1b[" + string(dim) + "m" + text + "\x1b[0m"
			case t.paint != nil && t.paint(i, cell) != "":
				text = "\x1b[" + string(t.paint(i, cell)) + "m" + text + "\x1b[0m"
			}
			line.WriteString(text)
			if i < len(row)-1 {
				line.WriteString("  ")
			}
		}
		fmt.Fprintln(a.Stdout, strings.TrimRight(line.String(), " "))
	}
}

// shown is a cell as a person reads it; line 0 is the head.
func (t *table) shown(line, column int, cell string) string {
	if line == 0 || t.word == nil {
		return cell
	}
	return t.word(column, cell)
}
