package suites

import (
	"log/slog"
	"testing"

	"mcp-all-in-one/internal/tester/suite"
)

// TestKeptRuns checks that the last runs of each principal, and the results of
// the newest, are kept across a restart.
func TestKeptRuns(t *testing.T) {
	opt := Options{StateDir: t.TempDir(), Publish: func(string, string) {}, Log: slog.New(slog.DiscardHandler)}
	s, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	results := []suite.TestResult{{Status: "passed"}}
	s.finish(runKey{"key:b", "smoke"}, "key:b", Run{Owner: "key:b", Results: results})
	for i := range maxRuns + 3 {
		s.finish(runKey{"key:a", "smoke"}, "key:a", Run{Owner: "key:a", Passed: i, Results: results})
	}
	again, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	runs := again.runs["smoke"]
	if len(runs) != maxRuns+1 || runs[0].Owner != "key:b" || runs[0].Results == nil {
		t.Fatalf("%d runs, the first = %+v", len(runs), runs[0])
	}
	if oldest := runs[1]; oldest.Passed != 3 || oldest.Results != nil {
		t.Errorf("the oldest = %+v", oldest)
	}
	if newest := runs[maxRuns]; newest.Passed != maxRuns+2 || len(newest.Results) != 1 {
		t.Errorf("the newest = %+v", newest)
	}
}

func TestNames(t *testing.T) {
	s := &Suites{opt: Options{Source: Source{Dir: t.TempDir()}}}
	for _, name := range []string{"", ".hidden", "../up", "a/b", "a b", string(make([]byte, maxName+1))} {
		if path, err := s.path(name); err == nil {
			t.Errorf("%q is the file %s", name, path)
		}
	}
	if _, err := s.path("smoke-1.2"); err != nil {
		t.Error(err)
	}
}
