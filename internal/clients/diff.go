package clients

import (
	"fmt"
	"strings"
)

// unifiedDiff returns a diff with three lines of context.
func unifiedDiff(path string, before, after []byte) string {
	const around = 3
	ops := diffLines(splitLines(string(before)), splitLines(string(after)))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", path, path)
	for start := 0; start < len(ops); {
		if ops[start].kind == ' ' {
			start++
			continue
		}
		from, end, quiet := max(0, start-around), start, 0
		for end < len(ops) && quiet <= 2*around {
			if ops[end].kind == ' ' {
				quiet++
			} else {
				quiet = 0
			}
			end++
		}
		end = max(start+1, end-max(0, quiet-around))
		oldLine, newLine, oldCount, newCount := 1, 1, 0, 0
		for i, op := range ops[:end] {
			if op.kind != '+' {
				if i < from {
					oldLine++
				} else {
					oldCount++
				}
			}
			if op.kind != '-' {
				if i < from {
					newLine++
				} else {
					newCount++
				}
			}
		}
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", oldLine, oldCount, newLine, newCount)
		for _, op := range ops[from:end] {
			fmt.Fprintf(&b, "%c%s\n", op.kind, op.text)
		}
		start = end
	}
	return b.String()
}

// A diffLine is one line of a diff: kept, removed or added.
type diffLine struct {
	kind rune
	text string
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// maxDiffLines bounds the number of lines to compare; above it the whole middle
// is replaced.
const maxDiffLines = 2000

// diffLines compares the lines between the common beginning and the common end.
func diffLines(a, b []string) []diffLine {
	var head, tail []diffLine
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, diffLine{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append([]diffLine{{' ', a[len(a)-1]}}, tail...)
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a)*len(b) > maxDiffLines*maxDiffLines {
		for _, l := range a {
			head = append(head, diffLine{'-', l})
		}
		for _, l := range b {
			head = append(head, diffLine{'+', l})
		}
		return append(head, tail...)
	}
	return append(append(head, longestCommon(a, b)...), tail...)
}

// longestCommon returns the diff that keeps as many lines as possible.
func longestCommon(a, b []string) []diffLine {
	kept := make([][]int, len(a)+1)
	for i := range kept {
		kept[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				kept[i][j] = kept[i+1][j+1] + 1
			} else {
				kept[i][j] = max(kept[i+1][j], kept[i][j+1])
			}
		}
	}
	var ops []diffLine
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			ops = append(ops, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || kept[i+1][j] >= kept[i][j+1]):
			ops = append(ops, diffLine{'-', a[i]})
			i++
		default:
			ops = append(ops, diffLine{'+', b[j]})
			j++
		}
	}
	return ops
}
