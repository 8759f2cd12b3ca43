// Command report reads the output of go test -json, passes its closing lines
// and its failures on, and sums up which parts of the protocol and which
// clauses the passing tests show.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

func main() {
	coverage := flag.String("coverage", "", "the covered share of statements, in percent")
	verify := flag.Bool("verify", false, "print a line per clause instead of the protocol table")
	lint := flag.String("lint", "", "ok, when the linters found nothing")
	flag.Parse()
	r := results{shown: map[string]bool{}, output: map[string][]string{}}
	if err := r.read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(2)
	}
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

// results are what the tests came to.
type results struct {
	passed, failed, skipped int
	shown                   map[string]bool // requirement ids in names of passing tests
	output                  map[string][]string
	first, last             time.Time
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
			fmt.Fprintln(out, lines.Text()) // of the compiler, for example
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
	switch e.Action {
	case "output", "build-output":
		if e.Test == "" {
			fmt.Fprint(out, e.Output)
			return
		}
		r.output[key] = append(r.output[key], e.Output)
	case "pass":
		if e.Test != "" {
			r.passed++
			r.note(e.Test)
		}
		delete(r.output, key)
	case "skip":
		if e.Test != "" {
			r.skipped++
		}
	case "fail":
		if e.Test != "" {
			r.failed++
		}
		fmt.Fprint(out, strings.Join(r.output[key], ""))
		delete(r.output, key)
	}
}

// note remembers the ids that a passing test carries.
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
