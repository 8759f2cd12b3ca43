// Command report reads the output of go test -json, passes on its closing lines
// and its failures, and summarizes which parts of the protocol and which
// clauses the passing tests cover.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	coverage := flag.String("coverage", "", "the covered share of statements, in percent")
	verify := flag.Bool("verify", false, "print a line per clause instead of the protocol table")
	lint := flag.String("lint", "", "ok, when the linters found nothing")
	again := flag.Bool("again", false, "print the packages that failed, and nothing else")
	flag.Parse()
	r := newResults()
	out := io.Writer(os.Stdout)
	if *again {
		out = io.Discard
	}
	if err := r.read(os.Stdin, out); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(2)
	}
	if *again {
		fmt.Println(strings.Join(r.down(), " "))
		return
	}
	r.sum()
	ok := r.failed == 0
	if *verify {
		ok = r.clauses(os.Stdout, *coverage, *lint == "ok") && ok
	} else {
		r.protocol(os.Stdout, *coverage)
	}
	if !ok {
		os.Exit(1)
	}
}

// results are the results of the tests.
type results struct {
	tally
	packages    map[string]*tally
	shown       map[string]bool // requirement ids in names of passing tests
	output      map[string][]string
	first, last time.Time
}

// A tally counts the tests of one package. For a test that ran again only the
// last result counts: a busy machine misses deadlines that a quiet one meets.
type tally struct {
	passed, failed, skipped int
	down                    bool // the package failed, with or without a test
}

func newResults() *results {
	return &results{packages: map[string]*tally{}, shown: map[string]bool{}, output: map[string][]string{}}
}

// sum adds the packages up. A package that failed without naming a failed test
// counts as one failure.
func (r *results) sum() {
	for _, t := range r.packages {
		r.passed += t.passed
		r.failed += t.failed
		r.skipped += t.skipped
		if t.down && t.failed == 0 {
			r.failed++
		}
	}
}

// down returns the packages that failed.
func (r *results) down() []string {
	var names []string
	for name, t := range r.packages {
		if t.down {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

type event struct {
	Time                          time.Time
	Action, Package, Test, Output string
}

var requirement = regexp.MustCompile(`req/((?:S\d+-\d+(?:\.\.\d+)?[+,]?)+)`)

func (r *results) read(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(out, lines.Text()) // compiler output, for example
			continue
		}
		if r.first.IsZero() {
			r.first = e.Time
		}
		r.last = e.Time
		r.take(&e, out)
	}
	return lines.Err()
}

func (r *results) take(e *event, out io.Writer) {
	key := e.Package + " " + e.Test
	t := r.packages[e.Package]
	if t == nil || e.Action == "start" {
		t = &tally{}
		r.packages[e.Package] = t
	}
	switch e.Action {
	case "output", "build-output":
		if e.Test == "" {
			fmt.Fprint(out, e.Output)
			return
		}
		r.output[key] = append(r.output[key], e.Output)
	case "pass":
		if e.Test != "" {
			t.passed++
			r.note(e.Test)
		}
		delete(r.output, key)
	case "skip":
		if e.Test != "" {
			t.skipped++
		}
	case "fail":
		if e.Test != "" {
			t.failed++
		} else {
			t.down = true
		}
		fmt.Fprint(out, strings.Join(r.output[key], ""))
		delete(r.output, key)
	}
}

// note records the ids in the name of a passing test.
func (r *results) note(test string) {
	for _, m := range requirement.FindAllStringSubmatch(test, -1) {
		for _, id := range strings.FieldsFunc(m[1], func(c rune) bool { return c == '+' || c == ',' }) {
			first, last, ranged := strings.Cut(id, "..")
			r.shown[first] = true
			if !ranged {
				continue
			}
			prefix, from, _ := strings.Cut(first, "-")
			var a, b int
			fmt.Sscan(from, &a)
			fmt.Sscan(last, &b)
			for n := a; n <= b; n++ {
				r.shown[fmt.Sprintf("%s-%d", prefix, n)] = true
			}
		}
	}
}
