package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/install/offer"
)

// askAll asks the questions that the flags do not answer. Without a terminal it
// returns an error that lists the missing answers.
func askAll(ctx context.Context, a *env.Env, list []install.Question, answers install.Answers) error {
	if !env.IsTerminal(a.Stdin) {
		if open := install.Missing(list, answers); len(open) > 0 {
			return install.NoTerminal(open)
		}
		return nil
	}
	for i := range list {
		q := &list[i]
		if len(answers[q.Kind][q.ID]) > 0 {
			continue
		}
		texts, err := askOne(ctx, a, q)
		if err != nil {
			return err
		}
		if len(texts) > 0 {
			answers.Set(q, texts...)
		}
	}
	return nil
}

// askOne asks a question: once, or until an empty line if it takes several
// answers.
func askOne(ctx context.Context, a *env.Env, q *install.Question) ([]string, error) {
	if q.Description != "" {
		fmt.Fprintln(a.Stderr, install.Show(q.Description))
	}
	for i, choice := range q.Choices {
		fmt.Fprintf(a.Stderr, "  %d  %s\n", i+1, install.Show(choice))
	}
	var texts []string
	for {
		text, err := readAnswer(ctx, a, q)
		switch {
		case err != nil:
			return nil, err
		case text == "" && q.Required && q.Default == "" && len(texts) == 0:
			fmt.Fprintln(a.Stderr, a.T("a value is required", "此项必填"))
			continue
		case text == "":
			return texts, nil
		}
		if text, err = q.Check(text); err != nil {
			fmt.Fprintln(a.Stderr, a.Lang.Of(err))
			continue
		}
		if texts = append(texts, text); !q.Repeated {
			return texts, nil
		}
	}
}

func readAnswer(ctx context.Context, a *env.Env, q *install.Question) (string, error) {
	label := install.Show(q.ID)
	switch {
	case q.Default != "":
		label += " [" + install.Show(q.Default) + "]"
	case q.Placeholder != "":
		label += " (" + install.Show(q.Placeholder) + ")"
	}
	file, ok := a.Stdin.(*os.File)
	if !q.Secret || !ok {
		return a.Ask(ctx, label)
	}
	fmt.Fprintf(a.Stderr, "  %s: ", label)
	text, err := term.ReadPassword(int(file.Fd()))
	fmt.Fprintln(a.Stderr)
	return strings.TrimSpace(string(text)), err
}

// agree asks for confirmation, and returns the confirmed entry, which the
// person may have edited.
func agree(ctx context.Context, a *env.Env, question string, yes bool, r *offer.Ready) ([]byte, error) {
	entry := r.Entry
	if yes {
		return entry, nil
	}
	if !env.IsTerminal(a.Stdin) {
		return nil, confirm(a, "")
	}
	for _, text := range r.Offer.Alarms {
		alarm := text.In(a.Lang)
		answer, err := a.Ask(ctx, a.T(alarm+". Continue anyway? [y/N]", alarm+"。仍要继续吗？[y/N]"))
		if err != nil || !isYes(answer) {
			return nil, declined(a)
		}
	}
	for {
		answer, err := a.Ask(ctx, question+a.T(" [y/N/e edit the entry]", "[y/N/e 编辑条目]"))
		switch {
		case err == nil && isYes(answer):
			return entry, nil
		case err != nil || !strings.HasPrefix(strings.ToLower(answer), "e"):
			return nil, declined(a)
		}
		if entry, err = edited(ctx, a, entry); err != nil {
			fmt.Fprintln(a.Stderr, a.Lang.Of(err))
		}
		fmt.Fprintf(a.Stderr, "%s\n", i18n.SeenJSON(string(entry)))
	}
}

func isYes(answer string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y")
}

func declined(a *env.Env) error {
	fmt.Fprintln(a.Stderr, a.T("nothing was installed", "没有安装"))
	return env.Silent(env.ExitDenied)
}

// edited lets the person change an entry in the editor of the environment. A
// result that is not a JSON object is ignored.
func edited(ctx context.Context, a *env.Env, entry []byte) ([]byte, error) {
	file, err := os.CreateTemp("", "entry-*.json")
	if err != nil {
		return entry, err
	}
	defer os.Remove(file.Name())
	if _, err = file.Write(indented(entry)); err == nil {
		err = file.Close()
	}
	if err != nil {
		return entry, err
	}
	if err := openEditor(ctx, a, file.Name()); err != nil {
		return entry, err
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return entry, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return entry, i18n.Errorf("the entry is not a JSON object, so it stays as it was: %w", "条目不是 JSON 对象，因此保持原样：%w", err)
	}
	return text, nil
}
