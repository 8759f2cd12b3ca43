package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
)

// TestExamples parses every example of every help text: the command and its
// flags exist, and the number of arguments is right.
func TestExamples(t *testing.T) {
	t.Parallel()
	checked := 0
	for name, p := range env.Personalities() {
		for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
			for _, line := range examplesOf(roots()[name](&env.Env{Personality: p, Lang: lang})) {
				checked++
				words := exampleWords(t, line)
				if words == nil {
					continue
				}
				if err := parseExample(words); err != nil {
					t.Errorf("%s: %q: %v", name, line, err)
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d examples found", checked)
	}
}

func examplesOf(cmd *cobra.Command) []string {
	var lines []string
	for line := range strings.Lines(cmd.Example) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	for _, c := range cmd.Commands() {
		lines = append(lines, examplesOf(c)...)
	}
	return lines
}

var exampleWord = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// exampleWords splits a line as a shell does, without pipes and redirections.
func exampleWords(t *testing.T, line string) []string {
	var words []string
	line = strings.TrimSuffix(strings.TrimPrefix(line, "source <("), ")")
	for _, w := range exampleWord.FindAllString(line, -1) {
		if w == "<" || w == ">" || w == "|" || strings.HasPrefix(w, "#") {
			break
		}
		words = append(words, strings.Trim(w, `'"`))
	}
	if len(words) == 0 {
		t.Errorf("%q has no command", line)
	}
	return words
}

// parseExample parses the words with a new command tree.
func parseExample(words []string) error {
	a := &env.Env{Args: words, Getenv: func(string) (string, bool) { return "", false }}
	name, args := identify(words)
	a.Personality = env.Personalities()[name]
	root := roots()[name](a)
	if len(args) > 0 && strings.Contains(args[0], ".") && a.Personality.Own {
		args = append([]string{"call"}, args...) // the short form
	}
	for _, c := range root.Commands() {
		stub(c)
	}
	stub(root)
	root.SetArgs(slices.Clone(args))
	if found, _, err := root.Find(args); err == nil && found == root && root.HasSubCommands() && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return command.UnknownCommand(a, root, args[0])
	}
	return root.Execute()
}

// stub makes a command check its arguments and run nothing.
func stub(cmd *cobra.Command) {
	cmd.PersistentPreRunE, cmd.PreRunE = nil, nil
	cmd.Run, cmd.RunE = nil, func(*cobra.Command, []string) error { return nil }
	for _, c := range cmd.Commands() {
		stub(c)
	}
}
