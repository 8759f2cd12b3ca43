package install

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
)

// A Question is a value that only the person who installs the server can
// provide.
type Question struct {
	// ID identifies the answer: the name of a variable, a header or an
	// argument.
	ID          string   `json:"name"`
	Kind        Kind     `json:"kind"`
	Description string   `json:"description,omitempty"`
	Placeholder string   `json:"placeholder,omitempty"`
	Choices     []string `json:"choices,omitempty"`
	Default     string   `json:"default,omitempty"`
	Required    bool     `json:"required"`
	Secret      bool     `json:"secret"`
	Repeated    bool     `json:"repeated,omitempty"`
	// Format is "", string, number, boolean, filepath or directory.
	Format string `json:"format,omitempty"`
	// Min and Max are the range of a number, if the manifest has one.
	Min string `json:"min,omitempty"`
	Max string `json:"max,omitempty"`
}

// opens reports whether the answer is a file or folder that the server may use.
func (q *Question) opens() bool { return q.Format == "filepath" || q.Format == "directory" }

// leaveOpen turns the default into a suggestion, because the author must not
// choose the answer.
func (q *Question) leaveOpen() {
	q.Placeholder = cmp.Or(q.Placeholder, q.Default)
	q.Default, q.Choices = "", nil
}

// A Kind is where an answer is used.
type Kind string

// The kinds of questions.
const (
	KindEnv    Kind = "env"
	KindHeader Kind = "header"
	KindArg    Kind = "arg"
)

// Flag returns the command-line flag that answers the question.
func (q *Question) Flag() string {
	switch q.Kind {
	case KindEnv:
		return "--env " + q.ID + "=..."
	case KindHeader:
		return "--header '" + q.ID + ": ...'"
	}
	return "--arg " + q.ID + "=..."
}

// Answers are the answers of a person, by kind and id.
type Answers map[Kind]map[string][]string

func (a Answers) of(q *Question) []string { return a[q.Kind][q.ID] }

// Set sets the answer to a question.
func (a Answers) Set(q *Question, texts ...string) {
	if a[q.Kind] == nil {
		a[q.Kind] = map[string][]string{}
	}
	a[q.Kind][q.ID] = texts
}

// Check checks one answer. It makes a path absolute, and replaces the number of
// a choice by the choice.
func (q *Question) Check(text string) (string, error) {
	if n, err := strconv.Atoi(text); err == nil && len(q.Choices) > 0 && !slices.Contains(q.Choices, text) && n >= 1 && n <= len(q.Choices) {
		return q.Choices[n-1], nil
	}
	switch {
	case strings.ContainsAny(text, "\x00\r\n"):
		return "", q.refuse("has a line break or NUL in it", "含有换行或 NUL")
	case q.Kind == KindArg && strings.HasPrefix(text, "-") && q.Format != "number":
		return "", q.refuse("begins with -, so it would be taken for an option", "以 - 开头，会被当作选项")
	case len(q.Choices) > 0 && !slices.Contains(q.Choices, text):
		return "", q.refuse("must be one of %s", "必须是 %s 之一", Show(strings.Join(q.Choices, ", ")))
	}
	switch q.Format {
	case "number":
		return text, q.checkNumber(text)
	case "boolean":
		if text != "true" && text != "false" {
			return "", q.refuse("must be true or false", "必须是 true 或 false")
		}
	}
	if q.opens() {
		return q.checkPath(text)
	}
	return text, nil
}

func (q *Question) checkNumber(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return q.refuse("must be a number", "必须是数字")
	}
	if least, err := strconv.ParseFloat(q.Min, 64); err == nil && n < least {
		return q.refuse("must be at least %s", "不得小于 %s", q.Min)
	}
	if most, err := strconv.ParseFloat(q.Max, 64); err == nil && n > most {
		return q.refuse("must be at most %s", "不得大于 %s", q.Max)
	}
	return nil
}

func (q *Question) checkPath(text string) (string, error) {
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", q.refuse("starts in a home directory that is not known", "以未知的用户目录开头")
		}
		text = filepath.Join(home, rest)
	}
	path, err := filepath.Abs(text)
	if err != nil {
		return "", q.refuse("is not a path", "不是路径")
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", q.refuse("there is no %s", "不存在 %s", path)
	}
	if q.Format == "directory" && !info.IsDir() {
		return "", q.refuse("%s is not a folder", "%s 不是文件夹", path)
	}
	for _, ours := range []string{folders.UserDir(folders.Home()), folders.StateDir()} {
		if ours != "" && (within(path, ours) || within(ours, path)) {
			return "", q.refuse("%s holds the configuration and the keys of this gateway: name a folder without them", "%s 含有本网关的配置和密钥：请指定不含它们的文件夹", path)
		}
	}
	return path, nil
}

// within reports whether path is folder or inside it, after following links.
func within(path, folder string) bool {
	rest, err := filepath.Rel(disk.RealPath(folder), disk.RealPath(path))
	return err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
}

func (q *Question) refuse(en, zh string, args ...any) error {
	return fail(env.CodeAnswer, "%s: %v", "%s：%v", Show(q.ID), i18n.New(en, zh, args...))
}

// Settle checks the answers and fills in defaults.
func Settle(list []Question, answers Answers) error {
	for i := range list {
		q := &list[i]
		texts := slices.Clone(answers.of(q))
		if len(texts) == 0 && q.Default != "" {
			texts = []string{q.Default}
		}
		for n, text := range texts {
			var err error
			if texts[n], err = q.Check(text); err != nil {
				return err
			}
		}
		if len(texts) > 1 && !q.Repeated {
			return q.refuse("was answered more than once", "有多个回答")
		}
		if len(texts) > 0 {
			answers.Set(q, texts...)
		}
	}
	return nil
}

// Missing returns the required questions that have no answer yet.
func Missing(list []Question, answers Answers) []Question {
	var open []Question
	for _, q := range list {
		if q.Required && q.Default == "" && len(answers.of(&q)) == 0 {
			open = append(open, q)
		}
	}
	return open
}

// NoTerminal returns the error for open questions without a terminal to ask on.
func NoTerminal(open []Question) error {
	flags := make([]string, len(open))
	for i := range open {
		flags[i] = open[i].Flag()
	}
	return fail(env.CodeAsk, "no terminal to ask on; give %s", "没有可供询问的终端；请提供 %s", strings.Join(flags, " "))
}

// NotAsked returns the error for an answer to an unknown question.
func NotAsked(id string, list []Question) error {
	names := make([]string, len(list))
	for i, q := range list {
		names[i] = Show(q.ID)
	}
	if len(names) == 0 {
		return fail(env.CodeAnswer, "%s is not asked for: there are no questions", "没有询问 %s；没有任何问题", Show(id))
	}
	return fail(env.CodeAnswer, "%s is not asked for; the questions are: %s", "没有询问 %s；现有的问题：%s", Show(id), strings.Join(names, ", "))
}
