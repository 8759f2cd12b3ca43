package clients

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// variables are the notations of a client for values that are filled in later.
type variables uint

const (
	varBraces  variables = 1 << iota // ${NAME}, ${NAME:-text}
	varDollar                        // $NAME
	varEnv                           // ${env:NAME}
	varFile                          // ${file:path}
	varInput                         // ${input:id}, asked for by the editor
	varEditor                        // ${userHome}, ${workspaceFolder} and others of VS Code
	varCurly                         // {env:NAME}, {file:path}
	varSecrets                       // ${{ secrets.NAME }}, ${{ inputs.NAME }}
	varShell                         // $(command)
	varOwn                           // as in our own file
)

// A variableForm is one of these notations, and its conversion to ours.
type variableForm struct {
	of   variables
	text func() *regexp.Regexp
	ours func(t *Translation, a *env.Env, at place, m []string) string
}

// A place is the position of a text in an entry.
type place struct {
	key string
	dir string            // folder of the client's file
	own map[string]string // variables that the entry defines
}

// variableForms are tried in this order if more than one matches.
var variableForms = []variableForm{
	{varSecrets, lazy.Regexp(`\$\{\{\s*(?:secrets|inputs)\.([\w.-]+)\s*\}\}`), (*Translation).asSecret},
	{varInput, lazy.Regexp(`\$\{input:([^}]+)\}`), (*Translation).asSecret},
	{varEnv, lazy.Regexp(`\$\{env:[^}]+\}`), unchanged},
	{varFile, lazy.Regexp(`\$\{file:[^}]+\}`), unchanged},
	{varEditor, lazy.Regexp(`\$\{(userHome|workspaceFolder|workspaceFolderBasename|pathSeparator|/|(?:workspaceFolder|command|config):[^}]*)\}`), (*Translation).asPlace},
	{varBraces, lazy.Regexp(`\$\{([A-Za-z_]\w*)(:-[^}]*)?\}`), asVariable},
	{varShell, lazy.Regexp(`\$\((?:[^()]|\([^()]*\))*\)`), (*Translation).asOutput},
	{varDollar, lazy.Regexp(`\$([A-Za-z_]\w*)()`), asVariable},
	{varCurly, lazy.Regexp(`\{(env|file):([^}]+)\}`), asCurly},
}

// translateText converts the variables of a client's text to our notation. Text
// that looks like one of our variables but is not one of the client's is
// escaped.
func (t *Translation) translateText(a *env.Env, vars variables, at place, text string) string {
	var out strings.Builder
	for text != "" {
		var form *variableForm
		var m []int
		for i := range variableForms {
			f := &variableForms[i]
			if vars&f.of == 0 {
				continue
			}
			if found := f.text().FindStringSubmatchIndex(text); found != nil && (m == nil || found[0] < m[0]) {
				form, m = f, found
			}
		}
		if m == nil {
			m = []int{len(text), len(text)}
		}
		literal := text[:m[0]]
		if vars&varOwn == 0 {
			literal = literally(literal)
		}
		out.WriteString(literal)
		if form != nil {
			var groups []string
			for i := 0; i < len(m); i += 2 {
				group := ""
				if m[i] >= 0 {
					group = text[m[i]:m[i+1]]
				}
				groups = append(groups, group)
			}
			out.WriteString(form.ours(t, a, at, groups))
		}
		text = text[m[1]:]
	}
	return out.String()
}

// literally escapes text that we would read as a variable.
func literally(text string) string { return strings.ReplaceAll(text, "${", "$${") }

func unchanged(_ *Translation, _ *env.Env, _ place, m []string) string { return m[0] }

func asVariable(_ *Translation, _ *env.Env, at place, m []string) string {
	if value, ok := at.own[m[1]]; ok {
		return literally(value)
	}
	return "${" + m[1] + m[2] + "}"
}

// asCurly converts {env:NAME} and {file:path}. The path is relative to the
// client's file.
func asCurly(_ *Translation, _ *env.Env, at place, m []string) string {
	if m[1] == "env" {
		return "${" + m[2] + "}"
	}
	path := m[2]
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") && at.dir != "" {
		path = filepath.Join(at.dir, path)
	}
	return "${file:" + path + "}"
}

// asSecret converts a value that the client asks the user for or keeps in a
// store.
func (t *Translation) asSecret(a *env.Env, _ place, m []string) string {
	t.note(a.T("store it: ", "请保存：") + i18n.Command("mcp-all-in-one", "secret", "set", m[1]))
	return "${secret:" + m[1] + "}"
}

// asOutput converts a value that the client takes from the output of a command.
// We do not run commands for values, so the user has to store it.
func (t *Translation) asOutput(a *env.Env, at place, m []string) string {
	name := t.Name + "-" + strings.ToLower(at.key)
	t.note(fmt.Sprintf(a.T("store what %s prints: ", "请保存 %s 的输出："), m[0]) + i18n.Command("mcp-all-in-one", "secret", "set", name))
	return "${secret:" + name + "}"
}

// asPlace converts the variables of editors that name places.
func (t *Translation) asPlace(a *env.Env, _ place, m []string) string {
	switch m[1] {
	case "userHome":
		return m[0] // the same as ours
	case "pathSeparator", "/":
		return string(filepath.Separator)
	case "workspaceFolder":
		t.note(a.T("means another folder outside the client: ", "在客户端之外是另一个文件夹：") + m[0])
		return m[0]
	}
	t.note(a.T("means nothing outside the client: ", "在客户端之外没有意义：") + m[0])
	return literally(m[0])
}

// note adds a note unless it is already there.
func (t *Translation) note(text string) {
	if !slices.Contains(t.notes, text) {
		t.notes = append(t.notes, text)
	}
}

// translateVariables converts the variables in every text of an entry.
func (t *Translation) translateVariables(a *env.Env, r rules, f foreign, in map[string]any) {
	own := map[string]string{}
	if in["uri"] != nil { // Goose fills the headers of a remote server from these
		for name, value := range object(in["envs"]) {
			own[name] = fmt.Sprint(value)
		}
	}
	var walk func(vars variables, key string, v any) any
	walk = func(vars variables, key string, v any) any {
		switch v := v.(type) {
		case string:
			return t.translateText(a, vars, place{key, f.dir, own}, v)
		case []any:
			for i := range v {
				v[i] = walk(vars, fmt.Sprintf("%s-%d", key, i), v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = walk(vars, k, v[k])
			}
		}
		return v
	}
	for _, key := range env.SortedKeys(in) {
		vars := r.vars
		if r.only != "" && key != r.only {
			vars = 0
		}
		in[key] = walk(vars, key, in[key])
	}
}

// object returns a value that is an object, otherwise nil.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
