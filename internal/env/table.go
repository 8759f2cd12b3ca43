package env

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Table is rows for a person on a terminal, and for a script behind a pipe:
// there it has no head, no colour, and tabs between its columns.
type Table struct {
	Head []string
	rows [][]string
	// Paint chooses the colour of a cell; nil paints nothing.
	Paint func(column int, cell string) Colour
	// Word is what a person reads for a cell that scripts look at; nil where
	// both read the same.
	Word func(column int, cell string) string
	// None is said on standard error where there are no rows.
	None string
	// Aligned makes it one for a person behind a pipe too.
	Aligned bool
}

func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Print writes the table to standard output.
func (a *Env) Print(t *Table) {
	if len(t.rows) == 0 && t.None != "" {
		fmt.Fprintln(a.Stderr, t.None)
		return
	}
	if !IsTerminal(a.Stdout) && !t.Aligned {
		for _, row := range t.rows {
			for i, cell := range row {
				row[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(cell)
			}
			fmt.Fprintln(a.Stdout, strings.Join(row, "\t"))
		}
		return
	}
	widths := make([]int, len(t.Head))
	for n, row := range append([][]string{t.Head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], TextWidth(t.shown(n, i, cell)))
		}
	}
	colours := a.colours(a.Stdout)
	for n, row := range append([][]string{t.Head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			text := t.shown(n, i, cell)
			if i < len(row)-1 { // a last column that is wider than the window would push the next line away
				text = PadRight(text, widths[i])
			}
			switch {
			case !colours:
			case n == 0:
				text = "\x1b[" + string(Dim) + "m" + text + "\x1b[0m"
			case t.Paint != nil && t.Paint(i, cell) != "":
				text = "\x1b[" + string(t.Paint(i, cell)) + "m" + text + "\x1b[0m"
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
func (t *Table) shown(line, column int, cell string) string {
	if line == 0 || t.Word == nil {
		return cell
	}
	return t.Word(column, cell)
}

func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
