package probe

import (
	"maps"
	"slices"
	"strings"
)

// Nearest returns the candidate that was probably meant by a misspelt name;
// empty when none is near.
func Nearest(name string, candidates []string) string {
	best, bestCost := "", len(name)/3+2
	lower := strings.ToLower(name)
	for _, c := range candidates {
		cost := distance(lower, strings.ToLower(c))
		if strings.Contains(strings.ToLower(c), lower) && len(lower) >= 3 {
			cost = min(cost, 2)
		}
		if cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}

// distance counts the edits between two words; swapping neighbours is one.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		next := make([]int, len(y)+1)
		next[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(y)]
}

// sortedNames are the keys of both maps, each once.
func sortedNames[V any](a, b map[string]V) []string {
	all := make(map[string]struct{}, len(a)+len(b))
	for name := range a {
		all[name] = struct{}{}
	}
	for name := range b {
		all[name] = struct{}{}
	}
	return slices.Sorted(maps.Keys(all))
}
