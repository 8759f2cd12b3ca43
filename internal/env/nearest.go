package env

import "strings"

// Nearest is the name that was probably meant; empty when none is near.
func Nearest(name string, names []string) string {
	best, least := "", len([]rune(name))/3+1
	for _, n := range names {
		if d := distance(name, n); d < least && d < len([]rune(name)) || strings.HasPrefix(n, name) && len(name) > 1 && best == "" {
			best, least = n, min(d, least)
		}
	}
	return best
}

// distance counts the changes, and swaps of neighbours, between two words.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
