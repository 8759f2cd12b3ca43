package spelling

import (
	"strings"
	"unicode"
)

// Terms yields the terms of a text: words of snake_case and camelCase in lower
// case and singular, and pairs of adjacent characters for scripts without
// spaces.
func Terms(text string, yield func(term string)) {
	runes := []rune(text)
	for i := 0; i < len(runes); {
		switch r := runes[i]; {
		case IsDense(r):
			end := i + 1
			for end < len(runes) && IsDense(runes[end]) {
				end++
			}
			pairs(runes[i:end], yield)
			i = end
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			end := wordEnd(runes, i)
			yield(singular(strings.ToLower(string(runes[i:end]))))
			i = end
		default:
			i++
		}
	}
}

// IsDense reports whether a character belongs to a script without spaces
// between words.
func IsDense(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

func pairs(run []rune, yield func(string)) {
	if len(run) == 1 {
		yield(string(run))
		return
	}
	for i := 0; i+1 < len(run); i++ {
		yield(string(run[i : i+2]))
	}
}

// wordEnd returns the end of the word that begins at i: before a capital that
// follows a small letter, and before the last capital of an abbreviation.
func wordEnd(runes []rune, i int) int {
	end := i + 1
	for end < len(runes) {
		r, before := runes[end], runes[end-1]
		if IsDense(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return end
		}
		if unicode.IsUpper(r) && !unicode.IsUpper(before) {
			return end
		}
		if unicode.IsUpper(r) && end+1 < len(runes) && unicode.IsLower(runes[end+1]) {
			return end
		}
		end++
	}
	return end
}

// singular removes the plural ending of an English word.
func singular(word string) string {
	switch {
	case len(word) <= 3 || !strings.HasSuffix(word, "s"):
		return word
	case strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "shes"), strings.HasSuffix(word, "ches"):
		return word[:len(word)-2]
	case strings.HasSuffix(word, "ss"), strings.HasSuffix(word, "us"), strings.HasSuffix(word, "is"):
		return word
	}
	return word[:len(word)-1]
}

// Joined returns the terms of a text as one word, so that spellings of the same
// words are equal: "Per page" and per_page.
func Joined(text string) string {
	var b strings.Builder
	Terms(text, func(term string) { b.WriteString(term) })
	return b.String()
}
