// Package threats compares the page about threats with the tests that it names.
package threats

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const page = "../../docs/threats.md"

// named matches a test as the page names it: its folder, its function, and
// optionally one subtest.
var named = regexp.MustCompile("`(\\.|(?:internal|test)[a-z0-9/]*) ((?:Test|Fuzz)[A-Za-z0-9_]+)(?:/([^`]+))?`")

// problems returns the lines of the page that name no test, or a test that does
// not exist.
func problems(text, root string) (list []string) {
	head := ""
	for i, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("line %d", i+1)
		tests := named.FindAllStringSubmatch(line, -1)
		switch {
		case !strings.HasPrefix(line, "|"):
			head = ""
		case head == "":
			head = line
		case strings.HasSuffix(head, "| shown by |") && !strings.HasPrefix(line, "|---") && len(tests) == 0:
			list = append(list, at+" names no test: "+line)
		}
		if n := strings.Count(line, " Test") + strings.Count(line, " Fuzz"); n > len(tests) {
			list = append(list, at+" names a test in a way that cannot be checked: "+line)
		}
		for _, m := range tests {
			if why := missing(root, m[1], m[2], m[3]); why != "" {
				list = append(list, at+": "+why)
			}
		}
	}
	return list
}

// missing returns which part of a test does not exist. The name of a subtest is
// a string in the sources, or the end of one.
func missing(root, folder, function, part string) string {
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		return "there are no tests in " + folder
	}
	found, all := false, ""
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			return err.Error()
		}
		found = found || strings.Contains("\n"+string(source), "\nfunc "+function+"(")
		all += string(source)
	}
	switch {
	case !found:
		return folder + " has no " + function
	case part != "" && !strings.Contains(all, `"`+part+`"`):
		return folder + " has no part " + part + " of " + function
	}
	return ""
}

func TestEveryLineHasItsTest(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems(string(text), "../..") {
		t.Error(p)
	}
	if n := len(named.FindAllString(string(text), -1)); n < 80 {
		t.Errorf("the page names %d tests: is it read at all?", n)
	}
	// Every kind of access has its own section.
	for _, who := range []string{
		"without a key", "plain key", "with scopes", "hostile server", "hostile page", "model that reads", "user of this machine", "project folder", "NATS",
	} {
		if !regexp.MustCompile("(?m)^## .*" + who).Match(text) {
			t.Errorf("nothing is said of: %s", who)
		}
	}
}

// TestWrongPagesAreFound checks that problems of a page are found.
func TestWrongPagesAreFound(t *testing.T) {
	const head = "| cannot | shown by |\n|---|---|\n"
	for text, want := range map[string]string{
		head + "| fly | `test/threats TestEveryLineHasItsTest` |":                   "",
		head + "| fly | `test/threats TestEveryLineHasItsTest/without a key` |":     "",
		head + "| fly | the wind |":                                                 "names no test",
		head + "| fly | `test/threats TestNothing` |":                               "has no TestNothing",
		head + "| fly | `test/nowhere TestX` |":                                     "there are no tests in test/nowhere",
		head + "| fly | `test/threats TestWrongPagesAreFound/" + "no such" + "x` |": "has no part no suchx",
		head + "| fly | `test/threats TestEveryLineHasItsTest`, and TestNothing |":  "cannot be checked",
		"Calls go on: `internal/cluster TestNothing`.":                              "has no TestNothing",
	} {
		found := problems(text, "../..")
		if want == "" && len(found) > 0 || want != "" && !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("%s\nfound %q, want %q", text, found, want)
		}
	}
}
