package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// wallClock lists every file of the product that converts a time to a number of
// the wall clock, and the reason. Code that measures durations or waits must
// not do so: the wall clock may be set forward or back while it runs.
var wallClock = map[string]string{
	"internal/upstream/pin/store.go":     "tells two states of a file apart",
	"internal/lock/stamp_unix.go":        "tells two states of a file apart",
	"internal/gateway/modern/handle.go":  "a handle expires by the time of day",
	"internal/gateway/modern/rounds.go":  "a handle expires by the time of day",
	"internal/peer/id.go":                "an id expires by the time of day",
	"internal/peer/wants_share.go":       "an id expires by the time of day",
	"internal/cluster/documents_copy.go": "a record is newer than those that replicas have forgotten",
	"internal/telemetry/otlp.go":         "what a collector is told",
	"internal/daemon/metrics.go":         "what Prometheus is told",
	"internal/traffic/entry.go":          "when a call began, as a person is told",
	"internal/traffic/stats.go":          "the minute that a figure belongs to",
	"internal/traffic/history.go":        "the minute that a figure belongs to",
	"internal/web/uptime.go":             "the time that a strip shows",
	"internal/http1/server_raw.go":       "the Date of an answer",
	"internal/script/engine.go":          "the clock that a script is shown",
}

var timeOfDay = regexp.MustCompile(`\.Unix(Nano|Milli|Micro)?\(\)|\.Round\(0\)`)

// fault/T19, fault/F19
func TestTimesAreMonotonic(t *testing.T) {
	found := make(map[string]bool)
	err := filepath.WalkDir("internal", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/mcptest/") {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && timeOfDay.Match(text) {
			found[filepath.ToSlash(path)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range found {
		if wallClock[path] == "" {
			t.Errorf("fault/T19: %s counts in the time of day: use time.Since, or add it to the table with a reason", path)
		}
	}
	for path := range wallClock {
		if !found[path] {
			t.Errorf("%s does not use the time of day any more", path)
		}
	}
}
