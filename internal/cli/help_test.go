package cli

import (
	"bytes"
	"context"
	cmdflag "flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcptest/must"
)

var update = cmdflag.Bool("update", false, "rewrite the golden help")

// TestHelp compares the help of every command, in both languages, with the
// golden files.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "zh"} {
		for name, p := range env.Personalities() {
			if name == "mcps_proxy" {
				continue
			}
			t.Run(lang+"/"+name, func(t *testing.T) {
				a := &env.Env{Personality: p, Lang: i18n.ByTag(lang)}
				var got bytes.Buffer
				writeAllHelp(&got, roots()[name](a), name, lang)
				golden(t, filepath.Join("testdata", "help", name+"."+lang+".txt"), got.Bytes())
			})
		}
	}
}

// writeAllHelp prints the help of a command and its subcommands by running the
// program.
func writeAllHelp(w *bytes.Buffer, cmd *cobra.Command, name, lang string) {
	cmd.InitDefaultHelpFlag()
	words := strings.Fields(cmd.CommandPath())[1:]
	args := append(append([]string{name}, words...), "--help")
	w.WriteString("$ " + strings.Join(args, " ") + "\n")
	getenv := func(key string) (string, bool) { return lang, key == "MCP_AIO_LANG" }
	if code := Run(context.Background(), env.Env{Args: args, Stdin: strings.NewReader(""), Stdout: w, Stderr: w, Getenv: getenv}); code != 0 {
		w.WriteString("exit " + string(rune('0'+code)) + "\n")
	}
	w.WriteString("\n")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			writeAllHelp(w, c, name, lang)
		}
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := must.Read(t, path)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is stale; run the test with -update (-want +got):\n%s", path, diff)
	}
}

// TestChineseHelpHasNoEnglish finds untranslated texts: every description line
// must contain a Chinese character.
func TestChineseHelpHasNoEnglish(t *testing.T) {
	a := &env.Env{Personality: env.Personalities()["mcp-all-in-one"], Lang: i18n.Chinese}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Short != "" && !strings.ContainsFunc(cmd.Short, func(r rune) bool { return r >= 0x4e00 && r <= 0x9fff }) {
			t.Errorf("%s: %q is not translated", cmd.CommandPath(), cmd.Short)
		}
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				check(c)
			}
		}
	}
	check(mainRoot(a))
}
