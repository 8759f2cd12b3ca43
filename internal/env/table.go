package env

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Table prints rows: aligned on a terminal; in a pipe without header and
// colour, with tabs between the columns.
type Table struct {
	Head []string
	rows [][]string
	// Paint returns the colour of a cell; nil means no colours.
	Paint func(column int, cell string) Colour
	// Word returns the text that a terminal shows for a cell; in a pipe the
	// cell stays unchanged. nil means no change.
	Word func(column int, cell string) string
	// None is printed to stderr if there are no rows.
	None string
	// Aligned keeps the aligned format in a pipe, too.
	Aligned bool
}

func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// ShowJSON prints v as JSON with --json, and reports whether it did.
func ShowJSON(a *Env, v any) bool {
	if a.JSON {
		WriteLine(a.Stdout, v)
	}
	return a.JSON
}

// Show prints v as JSON with --json, otherwise the table.
func Show(a *Env, v any, t *Table) {
	if !ShowJSON(a, v) {
		a.Print(t)
	}
}

// Print writes the table to stdout.
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
			if i < len(row)-1 { // padding a last column that is wider than the window would wrap every line
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

// shown returns a cell as a terminal shows it; line 0 is the header.
func (t *Table) shown(line, column int, cell string) string {
	if line == 0 || t.Word == nil {
		return cell
	}
	return t.Word(column, cell)
}

func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
