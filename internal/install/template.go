package install

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/lazy"
)

// A template is a value that contains answers to questions.
type template []piece

// A piece is text, or the answer to a question.
type piece struct {
	text     string
	question *Question
}

var variable = lazy.Regexp(`\{([A-Za-z0-9_.-]+)\}`)

// template reads an input. An input without a value is one question. In a
// value, each variable that the record describes is a question unless it has a
// value.
func (p *Plan) template(in input, kind Kind, id string) (template, error) {
	if in.Value == "" {
		q, err := p.ask(in, kind, id)
		return template{{question: q}}, err
	}
	var t template
	rest := in.Value
	for {
		at := variable().FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		v, known := in.Variables[rest[at[2]:at[3]]]
		switch {
		case !known:
			t = append(t, piece{text: rest[:at[1]]})
		case v.Value != "":
			t = append(t, piece{text: rest[:at[0]] + v.Value})
		default:
			q, err := p.ask(v, kind, rest[at[2]:at[3]])
			if err != nil {
				return nil, err
			}
			t = append(t, piece{text: rest[:at[0]]}, piece{question: q})
		}
		rest = rest[at[1]:]
	}
	return append(t, piece{text: rest}), nil
}

var questionID = lazy.Regexp(`^[A-Za-z0-9_.-]+$`)

// ask adds a question unless it was already added.
func (p *Plan) ask(in input, kind Kind, id string) (*Question, error) {
	switch in.Format {
	case "", "string", "number", "boolean", "filepath":
	default:
		return nil, fail(env.CodeRecord, "the format %s of %s is not known: refused", "%[2]s 的格式 %[1]s 未知：已拒绝", Show(in.Format), Show(id))
	}
	id = cmp.Or(id, "value"+strconv.Itoa(len(p.Questions)+1))
	if !questionID().MatchString(id) && kind != KindHeader {
		return nil, fail(env.CodeRecord, "%s is not a name of an input: refused", "%s 不是输入项的名称：已拒绝", Show(id))
	}
	q := Question{ID: id, Kind: kind, Description: in.Description, Placeholder: in.Placeholder, Choices: in.Choices,
		Default: in.Default, Required: in.Required, Secret: in.Secret, Format: in.Format}
	for i := range p.Questions {
		if p.Questions[i].ID == id && p.Questions[i].Kind == kind {
			return &q, nil // the answer is looked up by kind and id
		}
	}
	p.Questions = append(p.Questions, q)
	return &q, nil
}

// A Filled is an entry and the secrets that it refers to.
type Filled struct {
	Entry   *Entry
	Secrets map[string]string
}

// Typed returns an entry that a person typed. The values of the secret
// variables and headers are put into the secret store.
func Typed(local string, e *Entry, secret []string) *Filled {
	f := &filler{local: local, secrets: map[string]string{}}
	out := *e
	out.Env, out.Headers = maps.Clone(e.Env), maps.Clone(e.Headers)
	for _, values := range []map[string]string{out.Env, out.Headers} {
		for id, text := range values {
			if slices.Contains(secret, id) {
				name := f.secretName(id)
				f.secrets[name], values[id] = text, "${secret:"+name+"}"
			}
		}
	}
	return &Filled{&out, f.secrets}
}

// filler replaces the questions in templates by answers.
type filler struct {
	local   string
	answers Answers
	secrets map[string]string
}

// Fill creates the entry with a local name. Settle must have checked the
// answers. Inputs without an answer are left out.
func (p *Plan) Fill(local string, answers Answers) (*Filled, error) {
	f := &filler{local: local, answers: answers, secrets: map[string]string{}}
	e := &Entry{Type: p.kind, Command: p.command, Origin: p.origin()}
	var err error
	if p.url != nil {
		if e.URL, _, err = f.one(p.url); err != nil {
			return nil, err
		}
	}
	for _, a := range p.args {
		list, err := f.arg(a)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, list...)
	}
	if e.Env, err = f.settings(p.env); err != nil {
		return nil, err
	}
	if p.Image != nil {
		e.container = true
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(e.Env))) {
			e.Args = slices.Insert(e.Args, p.variables, "-e", name)
		}
	}
	if e.Headers, err = f.settings(p.headers); err != nil {
		return nil, err
	}
	return &Filled{e, f.secrets}, nil
}

func (f *filler) settings(list []setting) (map[string]string, error) {
	all := map[string]string{}
	for _, s := range list {
		text, ok, err := f.one(s.value)
		if err != nil {
			return nil, err
		}
		if ok {
			all[s.name] = text
		}
	}
	return all, nil
}

// arg returns one argument, or nothing if its answer is missing.
func (f *filler) arg(a part) ([]string, error) {
	switch {
	case a.image != nil:
		return []string{a.image.String()}, nil
	case a.value == nil:
		return []string{a.flag}, nil
	}
	if q := (*a.value)[0].question; q != nil && len(*a.value) == 1 && (a.repeated || a.boolean) {
		return f.each(a, q)
	}
	text, ok, err := f.one(*a.value)
	if err != nil || !ok {
		return nil, err
	}
	if a.flag == "" {
		return []string{text}, nil
	}
	return []string{a.flag, text}, nil
}

// each returns an argument once for each of its answers.
func (f *filler) each(a part, q *Question) ([]string, error) {
	var list []string
	for _, answer := range f.answers.of(q) {
		switch {
		case a.boolean && answer == "true":
			list = append(list, a.flag)
		case a.boolean:
		case a.flag != "":
			list = append(list, a.flag, literal(answer))
		default:
			list = append(list, literal(answer))
		}
	}
	return list, nil
}

// one fills a template. It returns false if an answer is missing.
func (f *filler) one(t template) (string, bool, error) {
	var v value
	for _, piece := range t {
		if piece.question == nil {
			v.text(piece.text)
			continue
		}
		given := f.answers.of(piece.question)
		switch {
		case piece.question.Secret && (len(given) > 0 || piece.question.Required):
			name := f.secretName(piece.question.ID)
			if len(given) > 0 {
				f.secrets[name] = given[0]
			}
			if err := v.secret(name); err != nil {
				return "", false, err
			}
		case len(given) == 0:
			return "", false, nil
		default:
			v.text(strings.Join(given, ","))
		}
	}
	return v.String(), true, nil
}

// secretName returns the name of a secret in the store: NAME.VAR.
func (f *filler) secretName(id string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("${}:", r) {
			return '_'
		}
		return r
	}, f.local+"."+id)
}
