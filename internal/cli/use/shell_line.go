package use

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/probe"
)

// A terminalReader reads lines from a terminal with editing, completion and a
// history that is kept between shells.
type terminalReader struct {
	shell *shell
	term  *term.Terminal
	path  string
	lines []string
}

const maxHistory = 500

func newTerminalReader(s *shell) *terminalReader {
	r := &terminalReader{shell: s, path: filepath.Join(folders.StateDir(), "shell_history")}
	screen := struct {
		io.Reader
		io.Writer
	}{os.Stdin, os.Stdout}
	r.term = term.NewTerminal(screen, s.To.Label+"> ")
	// The terminal works without a known size, too.
	_ = r.term.SetSize(terminalSize())
	r.term.AutoCompleteCallback = r.complete
	r.load()
	return r
}

func (r *terminalReader) load() {
	file, err := os.Open(r.path)
	if err != nil {
		return // there is no history yet
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		r.lines = append(r.lines, lines.Text())
		r.term.History.Add(lines.Text())
	}
}

// next reads one line in raw mode and then restores the mode of the terminal
// for the command.
func (r *terminalReader) next() (string, error) {
	state, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return "", err
	}
	line, err := r.term.ReadLine()
	if restored := term.Restore(int(os.Stdin.Fd()), state); err == nil {
		err = restored
	}
	if strings.TrimSpace(line) != "" {
		r.lines = append(r.lines, line)
	}
	return line, err
}

// close saves the end of the history.
func (r *terminalReader) close() {
	if len(r.lines) == 0 {
		return
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return // errors are ignored: the history is optional
	}
	kept := r.lines[max(0, len(r.lines)-maxHistory):]
	if err := os.WriteFile(r.path, []byte(strings.Join(kept, "\n")+"\n"), 0o600); err != nil {
		fmt.Fprintln(r.shell.Env.Stderr, r.shell.Env.Lang.Of(err))
	}
}

// complete extends the word at the cursor by the prefix that all candidates
// share.
func (r *terminalReader) complete(line string, pos int, key rune) (string, int, bool) {
	if key != '\t' || pos != len(line) {
		return "", 0, false
	}
	start := strings.LastIndexByte(line, ' ') + 1
	word := line[start:]
	var fits []string
	for _, c := range r.shell.candidates(strings.Fields(line[:start])) {
		if strings.HasPrefix(c, word) {
			fits = append(fits, c)
		}
	}
	if len(fits) == 0 {
		return "", 0, false
	}
	common := commonPrefix(fits)
	if common == word && len(fits) > 1 {
		fmt.Fprintf(r.term, "%s\n", strings.Join(fits, "  "))
	}
	if len(fits) == 1 && !strings.HasSuffix(common, "=") {
		common += " "
	}
	return line[:start] + common, start + len(common), true
}

func commonPrefix(words []string) string {
	prefix := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix
}

var shellWords = []string{"call", "complete", "help", "info", "level", "ping", "prompt", "prompts", "quit", "read", "resources", "send", "templates", "tools", "wire"}

// candidates returns the words that may follow others.
func (s *shell) candidates(before []string) []string {
	if len(before) == 0 {
		return append(slices.Clone(shellWords), s.known(catalog.Tools).Keys()...)
	}
	switch before[0] {
	case "read":
		return append(s.known(catalog.Resources).Keys(), s.known(catalog.Templates).Keys()...)
	case "prompt", "complete":
		if len(before) == 1 {
			return s.known(catalog.Prompts).Keys()
		}
		return s.wordsOf(catalog.Prompts, before[1])
	case "tools":
		return s.known(catalog.Tools).Keys()
	case "call":
		before = before[1:]
		if len(before) == 0 {
			return s.known(catalog.Tools).Keys()
		}
	}
	return s.wordsOf(catalog.Tools, before[0])
}

// wordsOf returns the arguments of an item.
func (s *shell) wordsOf(k catalog.Kind, name string) []string {
	it := s.known(k).Find(name)
	if it == nil {
		return nil
	}
	return target.ArgumentWords(k, it)
}

// known returns a list of the server, which is fetched once.
func (s *shell) known(k catalog.Kind) *probe.Listing {
	if l := s.lists[k]; l != nil {
		return l
	}
	l, err := s.List(s.base, k)
	if err != nil {
		l = &probe.Listing{Kind: k}
	}
	s.lists[k] = l
	return l
}
