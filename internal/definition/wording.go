package definition

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"mcp-all-in-one/internal/lazy"
)

// A wording matches a known phrase of poisoned definitions. It begins with one
// of leads, and the text also contains one of needs. Both are cheap to find;
// the expression is matched only where a lead was found.
type wording struct {
	leads, needs []string
	text         func() *regexp.Regexp // compiled on first use: most programs never need it
}

// reach is the maximum distance from a lead to the end of its wording.
const reach = 200

func newWording(leads, needs, text string) wording {
	w := wording{leads: strings.Split(leads, ","), text: lazy.Regexp(`^(?:` + text + `)`)}
	if needs != "" {
		w.needs = strings.Split(needs, ",")
	}
	return w
}

const secrets = `\.ssh/|\bid_rsa|\bid_ed25519|\.aws/credentials|/etc/passwd|/etc/shadow|\bmcp\.json|claude_desktop_config|system prompt|conversation history|chat history`

// wordings are kept narrow: a tool that "must be called first" is rude, not
// poisoned. They are matched against lower-case text with single spaces.
var wordings = []wording{
	newWording("ignor,disregard,forget,overrid", "instruction,rule,prompt,guideline,direction,message",
		`\w+ (?:all |any |the |these |those |your |every |of )*(?:previous|prior|above|earlier|preceding|other|existing) (?:\w+ )?(?:instruction|rule|prompt|guideline|direction|message)s?\b`),
	newWording("do not ,don't ,dont ,never ,must not ,should not ,avoid ", "user,human",
		`(?:do not|don'?t|never|must not|should not|avoid) (?:ever |even )?(?:tell|mention|inform|notify|reveal|disclose|show|let|alert|ask|warn)(?:ing)?\b[^.]{0,40}\b(?:user|human)\b`),
	newWording("without ", "user,human",
		`without (?:telling|informing|notifying|asking|mentioning|alerting|the knowledge of)\b[^.]{0,30}\b(?:user|human)\b`),
	newWording("<important,</important,<system,</system,<secret,</secret,<instruction,</instruction,<|im_,[inst],[/inst],<<sys>>,<</sys>>,[system]", "",
		`</?(?:important|system|secret|instructions?)\b[^>]{0,40}>|<\|im_(?:start|end)\|>|\[/?inst\]|<</?sys>>|\[system\]`),
	newWording("read,cat ,open,send,include,pass,copy,attach,upload,forward,leak,exfiltrate,append,reveal,print", ".ssh/,id_rsa,id_ed25519,.aws/cred,/etc/,mcp.json,claude_desktop_config,system prompt,history",
		`\w+\b[^.]{0,60}?(?:`+secrets+`)`),
	newWording("you are now,from now on", "", `you are now\b|from now on,? you (?:are|must|will|should)\b`),
	newWording("忽略,无视", "", `..[^。]{0,8}(?:之前|以上|先前|前面|所有|其他)[^。]{0,8}(?:指令|指示|规则|提示|要求)`),
	newWording("不要,别,切勿,请勿,不得", "用户", `(?:不要|别|切勿|请勿|不得)(?:告诉|告知|提及|通知|让|提醒|询问)[^。]{0,6}用户`),
}

// A lead is the beginning of a wording.
type lead struct {
	text    string
	wording int
}

// leads holds the leads of all wordings by their first byte.
var leads = func() (table [256][]lead) {
	for i := range wordings {
		for _, text := range wordings[i].leads {
			table[text[0]] = append(table[text[0]], lead{text, i})
		}
	}
	return table
}()

// possible returns the wordings that may occur in a plain text, one bit each: the
// text contains one of their leads and one of their needs.
func possible(plain []byte) (set uint) {
	within := false // inside a word
	for i, c := range plain {
		letter := isLetter(c)
		if letter && within {
			continue
		}
		within = letter
		for _, l := range leads[c] {
			if rest := plain[i:]; len(rest) >= len(l.text) && rest[1] == l.text[1] && string(rest[:len(l.text)]) == l.text {
				set |= 1 << l.wording
			}
		}
	}
	for i := range wordings {
		if set>>i&1 == 1 && !wordings[i].needed(plain) {
			set &^= 1 << i
		}
	}
	return set
}

func (w *wording) needed(plain []byte) bool {
	return w.needs == nil || slices.ContainsFunc(w.needs, func(word string) bool { return bytes.Contains(plain, []byte(word)) })
}

// find returns the match of the wording in a plain text, "" if there is none.
func (w *wording) find(plain string) string {
	for _, lead := range w.leads {
		for at := 0; ; at++ {
			i := strings.Index(plain[at:], lead)
			if i < 0 {
				break
			}
			at += i
			if at > 0 && isLetter(plain[at-1]) && isLetter(lead[0]) {
				continue // inside a word
			}
			if found := w.text().FindString(plain[at:min(len(plain), at+reach)]); found != "" {
				return found
			}
		}
	}
	return ""
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }
