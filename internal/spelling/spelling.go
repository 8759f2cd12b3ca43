// Package spelling finds the intended name for a misspelt one.
package spelling

import (
	"strings"
	"unicode"

	"mcp-all-in-one/internal/i18n"
)

// longest is the length, in characters, above which words are not compared.
const longest = 64

// Nearest returns the candidate of which name is most likely a misspelling, or
// "". It ignores case; a candidate that contains name is near.
func Nearest(name string, candidates []string) string {
	lower := strings.ToLower(name)
	word := []rune(lower)
	best, limit := "", min(max(1, len(word)/3), len(word)-1)
	for _, c := range candidates {
		other := strings.ToLower(c)
		cost := Distance(word, []rune(other), limit)
		part := len(word) > 2 && strings.Contains(other, lower) || len(word) > 1 && strings.HasPrefix(other, lower)
		if part {
			cost = min(cost, 2)
		}
		if cost <= limit || part && best == "" {
			best, limit = c, cost-1
		}
	}
	return best
}

// Distance counts the edits between two words: insertions, deletions,
// replacements, swapped neighbours. It returns limit+1 for any distance over
// limit.
func Distance(a, b []rune, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	var buffer [3][longest + 1]int
	if len(b) > longest {
		return limit + 1
	}
	before, last, row := buffer[0][:], buffer[1][:], buffer[2][:]
	for j := 0; j <= len(b); j++ {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		best := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			best = min(best, row[j])
		}
		if best > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit+1)
}

// maxName is the maximum length of a name, in characters.
const maxName = 256

// Fault returns the problem with the name of a server, a schema or a secret;
// empty if there is none.
func Fault(name string) i18n.Text {
	if name == "" {
		return i18n.New("is empty", "名称为空")
	}
	if name == "." || name == ".." {
		return i18n.New("means a directory in paths and is removed from URLs", "在路径中表示目录，并会从 URL 中被去除")
	}
	if len([]rune(name)) > maxName {
		return i18n.New("is too long", "名称过长")
	}
	for _, r := range name {
		switch {
		case unicode.IsSpace(r):
			return i18n.New("has white space in it", "含有空白字符")
		case strings.ContainsRune("${}", r):
			return i18n.New("has one of $ { } in it", "含有 $ { } 之一")
		case unicode.IsControl(r) || !unicode.IsPrint(r):
			return i18n.New("has a character in it that does not show", "含有不可见字符")
		}
	}
	return i18n.Text{}
}
