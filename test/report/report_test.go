package main

import (
	"io"
	"strings"
	"testing"
)

const sample = `{"Time":"2026-01-01T00:00:00Z","Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA/req/S001-40..42_b","Output":"noise\n"}
{"Action":"pass","Package":"p","Test":"TestA/req/S001-40..42_b"}
{"Action":"pass","Package":"p","Test":"TestA/req/S002-1+S002-2"}
{"Action":"output","Package":"p","Test":"TestB/req/S001-43","Output":"it broke\n"}
{"Action":"fail","Package":"p","Test":"TestB/req/S001-43"}
{"Time":"2026-01-01T00:00:07Z","Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
`

func TestReport(t *testing.T) {
	r := newResults()
	var out strings.Builder
	if err := r.read(strings.NewReader(sample), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "it broke\nFAIL\tp\t0.1s\n" {
		t.Errorf("what is passed on: %q", got)
	}
	out.Reset()
	r.sum()
	r.protocol(&out, "71.5")
	for _, want := range []string{
		"cases 3, passed 2, failed 1, skipped 0, coverage 71.5%, time 7s",
		"✅ completion: 100%", "❌ roots: 0% (no test names [S001-43 S001-44])",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	if r.clauses(&out, "71.5", true) {
		t.Errorf("a failed run verifies")
	}
	if !strings.Contains(out.String(), "✅ 条款 1") || !strings.Contains(out.String(), "❌ 条款 2") {
		t.Errorf("clauses:\n%s", out.String())
	}
}

// TestAgain has a package fail without a failed test, and pass when it runs
// again.
func TestAgain(t *testing.T) {
	const first = `{"Action":"start","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
{"Action":"start","Package":"q"}
{"Action":"pass","Package":"q"}
`
	const second = `{"Action":"start","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}
`
	for input, want := range map[string]struct {
		failed, passed int
		down           string
	}{first: {1, 1, "p"}, first + second: {0, 2, ""}} {
		r := newResults()
		if err := r.read(strings.NewReader(input), io.Discard); err != nil {
			t.Fatal(err)
		}
		r.sum()
		if r.failed != want.failed || r.passed != want.passed || strings.Join(r.down(), " ") != want.down {
			t.Errorf("failed %d, passed %d, down %q; want %+v", r.failed, r.passed, r.down(), want)
		}
	}
}
