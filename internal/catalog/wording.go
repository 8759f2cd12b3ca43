package catalog

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Suspicion is a text in a definition that speaks to the model as its user
// would, not about the thing that it describes.
type Suspicion struct {
	// Path leads to the text, as in Change.
	Path string `json:"path"`
	// Text is what was found, with every hidden character made visible.
	Text string `json:"text"`
}

func (s Suspicion) String() string {
	if s.Path == "" {
		return strconv.Quote(s.Text)
	}
	return s.Path + " says " + strconv.Quote(s.Text)
}

// A wording is what poisoned definitions are known to say: it begins with one
// of leads, and the text has one of needs too. Both are cheap to find, unlike
// the rest, which is matched only where a lead stands.
type wording struct {
	leads, needs []string
	text         *regexp.Regexp
}

// reach is how far behind its lead a wording may end.
const reach = 200

func newWording(leads, needs, text string) wording {
	w := wording{leads: strings.Split(leads, "|"), text: regexp.MustCompile(`^(?:` + text + `)`)}
	if needs != "" {
		w.needs = strings.Split(needs, "|")
	}
	return w
}

const secrets = `\.ssh/|\bid_rsa|\bid_ed25519|\.aws/credentials|/etc/passwd|/etc/shadow|\bmcp\.json|claude_desktop_config|system prompt|conversation history|chat history`

// wordings are kept narrow: that a tool "must be called first" is rude, not
// poison. They are matched against lower-case text with single spaces.
var wordings = []wording{
	newWording("ignor|disregard|forget|overrid", "instruction|rule|prompt|guideline|direction|message",
		`\w+ (?:all |any |the |these |those |your |every |of )*(?:previous|prior|above|earlier|preceding|other|existing) (?:\w+ )?(?:instruction|rule|prompt|guideline|direction|message)s?\b`),
	newWording("do not |don't |dont |never |must not |should not |avoid ", "user|human",
		`(?:do not|don'?t|never|must not|should not|avoid) (?:ever |even )?(?:tell|mention|inform|notify|reveal|disclose|show|let|alert|ask|warn)(?:ing)?\b[^.]{0,40}\b(?:user|human)\b`),
	newWording("without ", "user|human",
		`without (?:telling|informing|notifying|asking|mentioning|alerting|the knowledge of)\b[^.]{0,30}\b(?:user|human)\b`),
	newWording("<|[", "", `</?(?:important|system|secret|instructions?)\b[^>]{0,40}>|<\|im_(?:start|end)\|>|\[/?inst\]|<</?sys>>|\[system\]`),
	newWording("read|cat |open|send|include|pass|copy|attach|upload|forward|leak|exfiltrate|append|reveal|print", ".ssh/|id_rsa|id_ed25519|.aws/cred|/etc/|mcp.json|claude_desktop_config|system prompt|history",
		`\w+\b[^.]{0,60}?(?:`+secrets+`)`),
	newWording("you are now|from now on", "", `you are now\b|from now on,? you (?:are|must|will|should)\b`),
	newWording("忽略|无视", "", `..[^。]{0,8}(?:之前|以上|先前|前面|所有|其他)[^。]{0,8}(?:指令|指示|规则|提示|要求)`),
	newWording("不要|别|切勿|请勿|不得", "用户", `(?:不要|别|切勿|请勿|不得)(?:告诉|告知|提及|通知|让|提醒|询问)[^。]{0,6}用户`),
}

// maxSuspicions bounds what is said about one definition.
const maxSuspicions = 10

// Suspicions are the texts anywhere in a definition, names of members
// included, that give orders to the model.
func Suspicions(definition []byte) []Suspicion {
	var found []Suspicion
	look := func(path, text string) {
		if s := suspicious(text); s != "" && len(found) < maxSuspicions {
			found = append(found, Suspicion{Reveal(path), Reveal(s)})
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
			var text string
			if json.Unmarshal(value, &text) == nil {
				look(path, text)
			}
		}
	}
	walk("", definition)
	return found
}

// suspicious is the part of a text that gives orders, "" when there is none.
func suspicious(text string) string {
	plain := plainText(text)
	for i := range wordings {
		if found := wordings[i].find(plain); found != "" {
			return found
		}
	}
	return ""
}

func (w *wording) find(plain string) string {
	if w.needs != nil && !slices.ContainsFunc(w.needs, func(word string) bool { return strings.Contains(plain, word) }) {
		return ""
	}
	for _, lead := range w.leads {
		for at := 0; ; at++ {
			i := strings.Index(plain[at:], lead)
			if i < 0 {
				break
			}
			at += i
			if at > 0 && isLetter(plain[at-1]) && isLetter(lead[0]) {
				continue // within a word
			}
			if found := w.text.FindString(plain[at:min(len(plain), at+reach)]); found != "" {
				return found
			}
		}
	}
	return ""
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

// plainText is a text as a model reads it: without what does not show, in
// lower case and Latin letters, with single spaces.
func plainText(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	space := true
	for _, r := range s {
		switch {
		case r == ' ' || unicode.IsSpace(r):
			if !space {
				b.WriteByte(' ')
			}
			space = true
			continue
		case r < utf8.RuneSelf:
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			if r < ' ' {
				continue
			}
		case isUnseen(r):
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
		b.WriteRune(r)
	}
	return b.String()
}
