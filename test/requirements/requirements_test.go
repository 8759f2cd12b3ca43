// Package requirements compares the page that says which test covers which
// requirement with the tests themselves.
package requirements

import (
	"bufio"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the page")

const page = "../../docs/requirements.md"

// The families of ids in test names.
var (
	named    = regexp.MustCompile(`["'/ ` + "`" + `](req|corpus|fault|bridge)/((?:[A-Z][A-Z0-9]*-?\d+[a-z]?(?:\.\.\d+)?[+,]?)+)`)
	composed = regexp.MustCompile(`"(req|corpus|fault|bridge)/" ?\+`)
	bare     = regexp.MustCompile(`"([A-Z][A-Z0-9]*-?\d+[a-z]?)"`)
	corpusID = regexp.MustCompile(`"id": ?"([A-Z]\d+[a-z]?)["/. ]`)
	function = regexp.MustCompile(`^func (Test\w+|Fuzz\w+|Benchmark\w+)\(`)
)

// shown maps family/id to the tests that carry it.
type shown map[string][]string

func (s shown) add(id, where string) {
	if !slices.Contains(s[id], where) {
		s[id] = append(s[id], where)
	}
}

func TestPageIsUpToDate(t *testing.T) {
	tests := shown{}
	for _, root := range []string{"../../internal", "../../test", "../.."} {
		if err := scanTree(tests, root, root == "../.."); err != nil {
			t.Fatal(err)
		}
	}
	if err := scanCorpus(tests, "../../testdata/corpus"); err != nil {
		t.Fatal(err)
	}
	want, unknown := render(t, tests)
	if len(unknown) > 0 {
		t.Errorf("tests name requirements that do not exist: %v", unknown)
	}
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/requirements.md is stale: run make docs")
	}
}

// scanTree reads the test sources below root; if flat is set, only those in
// root.
func scanTree(tests shown, root string, flat bool) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (flat || name == "node_modules" || name == "requirements") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".spec.ts") || strings.HasSuffix(name, ".test.ts") || strings.HasSuffix(name, ".test.mjs") {
			return scanFile(tests, path)
		}
		return nil
	})
}

func scanFile(tests shown, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rel := strings.TrimPrefix(filepath.ToSlash(path), "../../")
	family := ""
	if m := composed.FindSubmatch(data); m != nil {
		family = string(m[1])
	}
	where := rel
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		line := lines.Text()
		if m := function.FindStringSubmatch(line); m != nil {
			where = filepath.Dir(rel) + " " + m[1]
		}
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			for _, id := range expand(m[2]) {
				tests.add(m[1]+"/"+id, where)
			}
		}
		if family == "" {
			continue
		}
		for _, m := range bare.FindAllStringSubmatch(line, -1) {
			tests.add(family+"/"+m[1], where)
		}
	}
	return lines.Err()
}

// scanCorpus reads the ids of the corpus files, which tests run as a whole.
func scanCorpus(tests shown, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".json") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range corpusID.FindAllStringSubmatch(string(data), -1) {
			tests.add("corpus/"+m[1], strings.TrimPrefix(filepath.ToSlash(path), "../../"))
		}
		return err
	})
}

// expand splits "S001-20+S001-22" and "S001-20..23" into ids.
func expand(list string) []string {
	var ids []string
	for _, id := range strings.FieldsFunc(list, func(r rune) bool { return r == '+' || r == ',' }) {
		first, last, ranged := strings.Cut(id, "..")
		if !ranged {
			ids = append(ids, first)
			continue
		}
		prefix := strings.TrimRight(first, "0123456789")
		var from, to int
		fmt.Sscan(first[len(prefix):], &from)
		fmt.Sscan(last, &to)
		for n := from; n <= to; n++ {
			ids = append(ids, fmt.Sprintf("%s%d", prefix, n))
		}
	}
	return ids
}

// render writes the page and returns the ids S... that belong to no
// requirement.
func render(t *testing.T, tests shown) (text string, unknown []string) {
	data, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	known := map[string]bool{}
	total, covered := 0, 0
	var body strings.Builder
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			fmt.Fprintf(&body, "\n%s\n\n| id | requirement | shown by |\n|---|---|---|\n", line)
		case line == "" || strings.HasPrefix(line, "#"):
		default:
			id, words, _ := strings.Cut(line, " ")
			if known[id] {
				t.Errorf("%s is in requirements.txt twice", id)
			}
			known[id] = true
			total++
			by := tests["req/"+id]
			if len(by) > 0 {
				covered++
			}
			fmt.Fprintf(&body, "| %s | %s | %s |\n", id, words, cell(by))
		}
	}
	b.WriteString("# Requirements and the tests that show them\n\nGenerated from the names of the tests by `make docs`. ")
	fmt.Fprintf(&b, "%d of %d requirements are named by a test.\n", covered, total)
	b.WriteString(body.String())
	for key := range tests {
		if id, ok := strings.CutPrefix(key, "req/S"); ok && !known["S"+id] {
			unknown = append(unknown, "S"+id)
		}
	}
	slices.Sort(unknown)
	b.WriteString(others(tests))
	return b.String(), unknown
}

func cell(by []string) string {
	slices.Sort(by)
	quoted := make([]string, len(by))
	for i, where := range by {
		quoted[i] = "`" + where + "`"
	}
	return strings.Join(quoted, "<br>")
}

// others returns the families that are not requirements of the documents.
func others(tests shown) string {
	var b strings.Builder
	for _, family := range []string{"corpus", "fault", "bridge"} {
		var ids []string
		for key := range tests {
			if id, ok := strings.CutPrefix(key, family+"/"); ok {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			continue
		}
		slices.SortFunc(ids, natural)
		fmt.Fprintf(&b, "\n## %s\n\n| id | shown by |\n|---|---|\n", map[string]string{
			"corpus": "Bad input", "fault": "Faults", "bridge": "Bridging versions",
		}[family])
		for _, id := range ids {
			fmt.Fprintf(&b, "| %s | %s |\n", id, cell(tests[family+"/"+id]))
		}
	}
	return b.String()
}

// natural orders J2 before J10.
func natural(a, b string) int {
	split := func(s string) (string, int, string) {
		head := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
		letters := strings.TrimRight(head, "0123456789")
		n := 0
		fmt.Sscanf(head[len(letters):], "%d", &n)
		return letters, n, s[len(head):]
	}
	la, na, ta := split(a)
	lb, nb, tb := split(b)
	if c := strings.Compare(la, lb); c != 0 {
		return c
	}
	if na != nb {
		return na - nb
	}
	if c := strings.Compare(ta, tb); c != 0 {
		return c
	}
	return strings.Compare(a, b) // A9 and A09
}
