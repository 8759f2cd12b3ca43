package main_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// commandLine finds a command line of the program in a page: in an
	// example, which is indented or has a prompt, or in a code span.
	commandLine = regexp.MustCompile("(?m)(?:^ {4,}(?:\\$ )?|^\\$ |`)mcp-all-in-one ([a-z][^`\n]*)")
	longFlag    = regexp.MustCompile(`^\[?(--[a-z][a-z-]*)`)
)

// TestCommandsOfPages checks that the commands and flags exist that the pages
// show. What exists is in docs/cli.md, which another test compares with --help.
func TestCommandsOfPages(t *testing.T) {
	helps := helpTexts(readFile(t, "docs/cli.md"))
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "README.md", "README.zh-CN.md", "CONTRIBUTING.md", "ARCHITECTURE.md") {
		if page == filepath.FromSlash("docs/cli.md") {
			continue
		}
		for _, m := range commandLine.FindAllStringSubmatch(readFile(t, page), -1) {
			found++
			if problem := checkCommand(helps, strings.Fields(m[1])); problem != "" {
				t.Errorf("%s: mcp-all-in-one %s: %s", page, m[1], problem)
			}
		}
	}
	if found < 100 {
		t.Errorf("found only %d command lines", found)
	}
	for _, wrong := range []string{"nosuch", "call demo echo --nosuch"} {
		if checkCommand(helps, strings.Fields(wrong)) == "" {
			t.Errorf("the test accepts %q", wrong)
		}
	}
}

// helpTexts returns the help of each command of docs/cli.md by its name, such
// as "key create". The empty name has the flags that all commands have.
func helpTexts(page string) map[string]string {
	helps := map[string]string{}
	for _, section := range strings.Split(page, "\n### ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		text, connection, _ := strings.Cut(text, "\n## Connection flags")
		helps[name] = text
		helps[""] += connection
	}
	helps[""] += helps["mcp-all-in-one"]
	return helps
}

// checkCommand says what is wrong with a command line, up to the command of a
// server or the next command of the shell.
func checkCommand(helps map[string]string, words []string) string {
	if end := slices.IndexFunc(words, func(w string) bool { return w == "--" || w == "|" || w == ">" || w == "#" }); end >= 0 {
		words = words[:end]
	}
	name := words[0]
	if strings.Contains(name, ".") { // SERVER.TOOL, short for call
		name = "call"
	}
	help, ok := helps[name]
	if !ok {
		return "no such command"
	}
	if len(words) > 1 && helps[name+" "+words[1]] != "" {
		help = helps[name+" "+words[1]]
	}
	for _, word := range words[1:] {
		if flag := longFlag.FindStringSubmatch(word); flag != nil && !hasFlag(help, flag[1]) && !hasFlag(helps[""], flag[1]) {
			return "no flag " + flag[1]
		}
	}
	return ""
}

func hasFlag(help, flag string) bool {
	return regexp.MustCompile(flag + `(?:[^a-z-]|$)`).MatchString(help)
}
