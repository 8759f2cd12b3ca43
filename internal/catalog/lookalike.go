package catalog

import (
	"slices"
	"strings"
	"unicode"

	"mcp-all-in-one/internal/i18n"
)

// A Lookalike is a group of tools that people or models may take for one
// another.
type Lookalike struct {
	// Tools are written server/tool, with hidden characters made visible.
	Tools []string `json:"tools"`
	// Same says that the names are equal; otherwise they only look so.
	Same bool `json:"same"`
}

// Lookalikes finds tools of different servers that have the same name, and
// tools anywhere whose different names look the same.
func Lookalikes(sources []Source) []Lookalike {
	type tool struct{ server, name string }
	groups := make(map[string][]tool)
	for i := range sources {
		for _, item := range sources[i].Features.items(Tools) {
			key := skeleton(item.Key)
			groups[key] = append(groups[key], tool{sources[i].Server, item.Key})
		}
	}
	var list []Lookalike
	for _, group := range groups {
		if len(group) < 2 {
			continue
		}
		found := Lookalike{Same: true}
		for _, t := range group {
			found.Tools = append(found.Tools, Reveal(t.server+"/"+t.name))
			found.Same = found.Same && t.name == group[0].name
		}
		slices.Sort(found.Tools)
		list = append(list, found)
	}
	slices.SortFunc(list, func(a, b Lookalike) int { return slices.Compare(a.Tools, b.Tools) })
	return list
}

// skeleton maps names that look the same to one text: case, width, hidden
// characters, separators, and letters of other scripts that look like Latin
// ones.
func skeleton(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 0xff01 && r <= 0xff5e {
			r -= 0xff01 - '!'
		}
		if i18n.Unseen(r) || unicode.Is(unicode.Mn, r) {
			continue
		}
		r = unicode.ToLower(r)
		if latin, ok := looksLike[r]; ok {
			r = latin
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), "rn", "m")
}

// looksLike are the lower-case characters that pass for Latin ones in the
// usual fonts, after the confusables of Unicode TR39, and what passes for one
// another within ASCII.
var looksLike = confusables(
	"a", "аαɑ@àáâãäåāạ", "b", "ЬƄ", "c", "сϲçćč", "d", "ԁďḍ", "e", "еєҽèéêëēẹ", "g", "ɡġğ", "h", "һհ", "i", "іι1lɩ|ìíîïīıӏ!", "j", "јϳ",
	"k", "кκ", "m", "м", "n", "пηńñ", "o", "оοօ0øòóôõöōơọ", "p", "рρ", "q", "ԛ", "r", "гɾ", "s", "ѕꜱśšş", "t", "тτ", "u", "υսùúûüūụµ",
	"v", "νѵ", "w", "ԝѡω", "x", "хχ", "y", "уγүýÿ", "z", "ʐžźż", "_", "-‐‑‒–—−. ",
)

func confusables(pairs ...string) map[rune]rune {
	m := make(map[rune]rune)
	for i := 0; i < len(pairs); i += 2 {
		for _, r := range pairs[i+1] {
			m[r] = []rune(pairs[i])[0]
		}
	}
	return m
}
