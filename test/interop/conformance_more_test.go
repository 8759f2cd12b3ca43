package interop

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestConformanceUnscored runs the scenarios of 2025-11-25 besides the required
// ones. server-sse-polling is left out: it wants a stream where a plain
// response is enough.
func TestConformanceUnscored(t *testing.T) {
	g := mcptest.Gateway(t, config("everything", fmt.Sprintf(`{"command":%q}`, everythingServer(t))))
	for _, name := range []string{"json-schema-2020-12", "server-session-lifecycle"} {
		t.Run("fault/T43 "+name, func(t *testing.T) {
			verdicts := runSuite(t, g.URL+"/s/everything/mcp", "--scenario", name)
			if len(verdicts) == 0 {
				t.Fatal("it did not run")
			}
			for scenario, why := range verdicts {
				if why != "" {
					t.Errorf("%s: %s", scenario, why)
				}
			}
		})
	}
}

// TestConformanceTogether runs three suites at once, with one server per
// session, and checks that they do not disturb each other.
func TestConformanceTogether(t *testing.T) {
	suites, revisions := 1, []string{"2025-11-25"}
	if *matrix {
		suites, revisions = 3, []string{"2025-11-25", "2026-07-28"}
	} else {
		t.Log("one suite at a time in this run; -matrix runs three at once")
	}
	for _, revision := range revisions {
		t.Run("fault/T43 "+revision, func(t *testing.T) { together(t, suites, revision) })
	}
}

func together(t *testing.T, suites int, revision string) {
	g := mcptest.Gateway(t, config("everything", fmt.Sprintf(`{"command":%q,"share":"session"}`, everythingServer(t))))
	results := make([]map[string]string, suites)
	var wg sync.WaitGroup
	for i := range suites {
		wg.Go(func() { results[i] = conformance(t, g.URL+"/s/everything/mcp", revision) })
	}
	wg.Wait()
	for i, verdicts := range results {
		for _, name := range required(t, revision) {
			if why, ran := verdicts[name]; !ran || why != "" {
				t.Errorf("suite %d: %s: ran %v, %s", i, name, ran, why)
			}
		}
		if !maps.Equal(verdicts, results[0]) {
			t.Errorf("suite %d ended otherwise than the first", i)
		}
	}
	if suites > 1 && !t.Failed() {
		n := len(required(t, revision))
		seen.together = append(seen.together, fmt.Sprintf("| %s | %d | %d of %d in each |\n", revision, suites, n, n))
	}
}
