package install

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Recall has the answers from which an entry was made, so that a person need
// not answer the same questions again.
type Recall struct {
	Answers Answers
	// Secrets are not read. The answer to a secret question is a mark, and Keep
	// replaces it by the text that the entry has in its place.
	mark    string
	secrets map[string]string // texts in the entry, by the name of the secret
}

// NewRecall looks for the answers in an entry that fill has made from
// questions. Parts that a person has changed since, and parts with the person's
// own variables, are left out.
func NewRecall(list []Question, local string, entry *Entry, fill func(string, Answers) (*Filled, error)) *Recall {
	r := &Recall{Answers: Answers{}, mark: rand.Text(), secrets: map[string]string{}}
	marked := Answers{}
	for i := range list {
		texts := []string{r.markOf(i)}
		if list[i].Repeated { // the maximum number of answers
			texts = slices.Repeat(texts, len(entry.Args)+1)
		}
		marked.Set(&list[i], texts...)
	}
	filled, err := fill(local, marked)
	if err != nil {
		return r
	}
	m := &matcher{recall: r, list: list, tokens: map[string]int{}, names: map[int]string{}}
	for i := range list {
		m.tokens[r.markOf(i)] = i
		for name, text := range filled.Secrets {
			if text == r.markOf(i) {
				m.tokens[reference(name)], m.names[i] = i, name
			}
		}
	}
	m.text(filled.Entry.URL, entry.URL)
	for name, text := range filled.Entry.Env {
		m.text(text, entry.Env[name])
	}
	for name, text := range filled.Entry.Headers {
		m.text(text, entry.Headers[name])
	}
	m.words(filled.Entry.Args, entry.Args)
	r.switches(list, local, entry, filled, marked, fill)
	return r
}

func (r *Recall) markOf(i int) string { return fmt.Sprintf("%s.%d.", r.mark, i) }

func reference(secret string) string { return "${secret:" + secret + "}" }

// Keep restores the entry's texts for the secrets that were not given again.
func (r *Recall) Keep(f *Filled) {
	for name, text := range f.Secrets {
		if !strings.HasPrefix(text, r.mark) {
			continue
		}
		delete(f.Secrets, name)
		e, was := f.Entry, r.secrets[name]
		e.URL = strings.ReplaceAll(e.URL, reference(name), was)
		for i := range e.Args {
			e.Args[i] = strings.ReplaceAll(e.Args[i], reference(name), was)
		}
		for _, values := range []map[string]string{e.Env, e.Headers} {
			for key, value := range values {
				values[key] = strings.ReplaceAll(value, reference(name), was)
			}
		}
	}
}

// switches recalls boolean answers, which appear as a flag or not at all.
func (r *Recall) switches(list []Question, local string, entry *Entry, off *Filled, marked Answers, fill func(string, Answers) (*Filled, error)) {
	for i := range list {
		q := &list[i]
		if q.Format != "boolean" || len(r.Answers.of(q)) > 0 {
			continue
		}
		was := marked.of(q)
		marked.Set(q, "true")
		on, err := fill(local, marked)
		marked.Set(q, was...)
		if err != nil || len(on.Entry.Args) != len(off.Entry.Args)+1 {
			continue
		}
		at := 0
		for at < len(off.Entry.Args) && on.Entry.Args[at] == off.Entry.Args[at] {
			at++
		}
		r.Answers.Set(q, fmt.Sprint(slices.Contains(entry.Args, on.Entry.Args[at])))
	}
}

// A matcher compares texts that contain marks with the texts of an entry.
type matcher struct {
	recall *Recall
	list   []Question
	tokens map[string]int // the mark or secret reference for the answer to a question
	names  map[int]string // names of secrets by question
}

// pattern converts a text to a pattern with a group for each mark, and returns
// the questions of the groups.
func (m *matcher) pattern(marked string) (*regexp.Regexp, []int) {
	var b strings.Builder
	var questions []int
	for marked != "" {
		first, token := len(marked), ""
		for t := range m.tokens {
			if at := strings.Index(marked, t); at >= 0 && at < first {
				first, token = at, t
			}
		}
		b.WriteString(regexp.QuoteMeta(marked[:first]))
		marked = marked[first:]
		if token == "" {
			continue
		}
		if m.list[m.tokens[token]].Kind == KindArg && b.Len() == 0 {
			b.WriteString("([^-].*)") // an answer never starts with -
		} else {
			b.WriteString("(.+)")
		}
		questions = append(questions, m.tokens[token])
		marked = marked[len(token):]
		for strings.HasPrefix(marked, ","+token) { // several answers in one text
			marked = marked[1+len(token):]
		}
	}
	return regexp.MustCompile("(?s)^" + b.String() + "$"), questions
}

// text extracts the answers from a text of the entry.
func (m *matcher) text(marked, text string) {
	re, questions := m.pattern(marked)
	found := re.FindStringSubmatch(text)
	for n := range found[min(1, len(found)):] {
		m.take(questions[n], found[n+1])
	}
}

func (m *matcher) take(i int, text string) {
	q, answers := &m.list[i], m.recall.Answers
	if name := m.names[i]; name != "" {
		m.recall.secrets[name] = text
		answers.Set(q, m.recall.markOf(i))
		return
	}
	if plain := strings.ReplaceAll(text, "$${", "${"); literal(plain) == text && !slices.Contains(answers.of(q), plain) {
		answers.Set(q, append(answers.of(q), plain)...)
	}
}

// words extracts the answers from the arguments. It aligns the equal arguments
// first, so that a missing option does not shift the others.
func (m *matcher) words(marked, words []string) {
	patterns := make([]*regexp.Regexp, len(marked))
	worth := make([]int, len(marked))
	for i, text := range marked {
		re, questions := m.pattern(text)
		patterns[i], worth[i] = re, 1
		if len(questions) == 0 {
			worth[i] = 2
		}
	}
	best := make([][]int, len(marked)+1)
	for i := range best {
		best[i] = make([]int, len(words)+1)
	}
	for i := range slices.Backward(marked) {
		for j := len(words) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if patterns[i].MatchString(words[j]) {
				best[i][j] = max(best[i][j], worth[i]+best[i+1][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(marked) && j < len(words); {
		switch {
		case patterns[i].MatchString(words[j]) && best[i][j] == worth[i]+best[i+1][j+1]:
			m.text(marked[i], words[j])
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
}
