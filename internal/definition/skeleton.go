package definition

import (
	"strings"
	"unicode"

	"mcp-all-in-one/internal/i18n"
)

// Skeleton maps names that look the same to one text. It ignores case, width,
// hidden characters and separators, and maps letters of other scripts to
// similar Latin ones.
func Skeleton(name string) string {
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

// looksLike maps the lower-case characters that look like Latin ones in common
// fonts, after the confusables of Unicode TR39, and similar characters within
// ASCII.
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
