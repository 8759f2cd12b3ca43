package definition

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// A Suspicion is a text in a definition that gives orders to the model instead
// of describing the tool.
type Suspicion struct {
	// Path is the path of the text, as in Change.
	Path string `json:"path"`
	// Text is the matching text, with every hidden character made visible.
	Text string `json:"text"`
}

func (s Suspicion) String() string { return s.In(i18n.English) }

// In returns the suspicion in the given language.
func (s Suspicion) In(l i18n.Lang) string {
	if s.Path == "" {
		return strconv.Quote(s.Text)
	}
	return i18n.New("%s says %q", "%s 中写着 %q", s.Path, s.Text).In(l)
}

// maxSuspicions limits the suspicions of one definition.
const maxSuspicions = 10

// Suspicions returns the texts in a definition, including names of members,
// that give orders to the model.
func Suspicions(definition []byte) []Suspicion {
	if harmless(definition) {
		return nil
	}
	var found []Suspicion
	look := func(path, words string) {
		if s := suspicious(words); s != "" && len(found) < maxSuspicions {
			found = append(found, Suspicion{i18n.Reveal(path), i18n.Reveal(s)})
		}
	}
	var walk func(path string, value []byte)
	walk = func(path string, value []byte) {
		if len(value) == 0 {
			return
		}
		switch value[0] {
		case '{':
			for name, inner := range jsonrpc.Members(value) {
				at := join(path, name)
				look(at, name)
				walk(at, inner)
			}
		case '[':
			i := 0
			for inner := range jsonrpc.Elements(value) {
				walk(path+"["+strconv.Itoa(i)+"]", inner)
				i++
			}
		case '"':
			words, _ := jsonrpc.Text(value)
			look(path, words)
		}
	}
	walk("", definition)
	return found
}

// harmless reports that no text in a definition gives orders. That holds for
// nearly all definitions, so one pass over the raw JSON saves the walk.
func harmless(definition []byte) bool {
	if bytes.IndexByte(definition, '\\') >= 0 {
		definition = jsonrpc.AppendUnescaped(make([]byte, 0, len(definition)), definition)
	}
	return possible(plainText(definition)) == 0
}

// suspicious returns the part of a text that gives orders, "" if there is none.
func suspicious(text string) string {
	plain := plainText([]byte(text))
	set := possible(plain)
	for i := 0; set>>i != 0; i++ {
		if set>>i&1 == 0 {
			continue
		}
		if found := wordings[i].find(string(plain)); found != "" {
			return found
		}
	}
	return ""
}

// plainText returns a text as a model reads it: without invisible characters,
// in lower case and Latin letters, with single spaces.
func plainText(s []byte) []byte {
	plain := make([]byte, 0, len(s))
	space := true
	for i := 0; i < len(s); {
		c := s[i]
		if c > ' ' && c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			plain = append(plain, c)
			space = false
			i++
			continue
		}
		r, n := rune(c), 1
		if c >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(s[i:])
		}
		i += n
		switch {
		case unicode.IsSpace(r):
			if !space {
				plain = append(plain, ' ')
			}
			space = true
			continue
		case r < ' ' || i18n.Unseen(r):
			continue
		case r == '’':
			r = '\''
		case r >= 0xff01 && r <= 0xff5e:
			r = unicode.ToLower(r - (0xff01 - '!'))
		default:
			r = unicode.ToLower(r)
			if latin, ok := looksLike[r]; ok {
				r = latin
			}
		}
		space = false
		plain = utf8.AppendRune(plain, r)
	}
	return plain
}
