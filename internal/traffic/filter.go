package traffic

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// A Filter selects entries. The console and the command line share its grammar: a list
// of terms that must all match.
//
//	word            the text occurs in the names or in the first bytes of a body
//	text:"a b"      the same, with blanks
//	field:value     the field matches; * stands for anything, a,b for either
//	-field:value    it does not
//	dur:>500ms      durations: dur gateway transport srv
//	size:>100kb     sizes: size req res
//	since:10m       started at most that long ago
//	from:TIME       started at that time or later; to:TIME before it
//	tool:github.*   server and name of a tools/call
//
// Fields: client server schema session principal door method name tool status
// code hop kind bench id parent.
type Filter struct {
	terms []term
	texts []textTerm
}

type term struct {
	not   bool
	match func(c *Call, now time.Time) bool
}

type textTerm struct {
	not  bool
	text []byte
}

// A FilterError says which term of a filter is wrong.
type FilterError struct {
	Term   string
	Reason i18n.Text
}

func (e *FilterError) Error() string { return e.In(i18n.English) }

// In returns the message in the given language.
func (e *FilterError) In(l i18n.Lang) string {
	return i18n.New("filter term %q: %v", "过滤条件 %q：%v", e.Term, e.Reason).In(l)
}

// ParseFilter parses a filter. The empty string matches everything.
func ParseFilter(s string) (*Filter, error) {
	f := &Filter{}
	for _, word := range splitTerms(s) {
		if err := f.add(word); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Only adds a condition to f and returns f. No term can widen the condition.
func (f *Filter) Only(allowed func(*Call) bool) *Filter {
	f.terms = append(f.terms, term{match: func(c *Call, _ time.Time) bool { return allowed(c) }})
	return f
}

func (f *Filter) match(c *Call, now time.Time) bool {
	for i := range f.terms {
		if f.terms[i].match(c, now) == f.terms[i].not {
			return false
		}
	}
	return true
}

func (f *Filter) wantsText() bool { return len(f.texts) > 0 }

func (f *Filter) matchText(c *Call, req, res []byte) bool {
	for _, t := range f.texts {
		found := containsFold([]byte(c.Name), t.text) || containsFold([]byte(c.Method), t.text) ||
			containsFold([]byte(c.Server), t.text) || containsFold([]byte(c.Client), t.text) ||
			containsFold(req, t.text) || containsFold(res, t.text) ||
			slices.ContainsFunc(c.Notes, func(n string) bool { return containsFold([]byte(n), t.text) })
		if found == t.not {
			return false
		}
	}
	return true
}

// containsFold reports whether b contains lower, ignoring case. lower is in lower
// case.
func containsFold(b, lower []byte) bool {
	return bytes.Contains(bytes.ToLower(b), lower)
}

// splitTerms splits s at blanks outside quotes.
func splitTerms(s string) []string {
	var out []string
	var word strings.Builder
	quoted := false
	flush := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
			word.WriteByte(c)
		case c == '\\' && quoted && i+1 < len(s):
			i++
			word.WriteByte(s[i])
		case (c == ' ' || c == '\t' || c == '\n') && !quoted:
			flush()
		default:
			word.WriteByte(c)
		}
	}
	flush()
	return out
}

func (f *Filter) add(word string) error {
	body, not := strings.CutPrefix(word, "-")
	field, value, ok := strings.Cut(body, ":")
	if !ok || strings.HasPrefix(body, `"`) {
		field, value = "text", body
	}
	value = strings.Trim(value, `"`)
	if value == "" {
		return &FilterError{word, i18n.New("a value is missing", "缺少值")}
	}
	if field == "text" {
		f.texts = append(f.texts, textTerm{not, []byte(strings.ToLower(value))})
		return nil
	}
	match, err := fieldMatch(field, value)
	if err != nil {
		return &FilterError{word, i18n.Why(err)}
	}
	f.terms = append(f.terms, term{not, match})
	return nil
}
