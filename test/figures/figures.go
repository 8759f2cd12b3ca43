// Package figures collects the measurements of the fault tests in full size,
// and writes them to docs/torture.md.
package figures

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Full reports whether the fault tests run in full size.
func Full() bool { return os.Getenv("TORTURE") == "full" }

// Size returns fast, or whole in full size.
func Size(fast, whole int) int {
	if Full() {
		return whole
	}
	return fast
}

var (
	mu    sync.Mutex
	lines = map[string]string{} // by test
)

// Report adds figures of a test to the page, after those that it has reported
// before.
func Report(t testing.TB, id, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	t.Logf("%s: %s", id, text)
	if t.Failed() {
		text = "**failed** " + text
	}
	mu.Lock()
	defer mu.Unlock()
	if before := lines[id]; before != "" {
		text = before + "; " + text
	}
	lines[id] = text
}

// Run runs the tests of a package and writes the page, in full size.
func Run(m *testing.M) (code int) {
	code = m.Run()
	if !Full() || len(lines) == 0 {
		return code
	}
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "writing the page:", err)
		return 1
	}
	return code
}

var row = regexp.MustCompile(`(?m)^\| (T\d+[a-z]?) \| (.*) \| (\d{4}-\d\d-\d\d) \|$`)

// page finds the page from the folder in which the tests of a package run.
func page() (string, error) {
	dir, err := os.Getwd()
	for err == nil && filepath.Dir(dir) != dir {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return filepath.Join(dir, "docs", "torture.md"), nil
		}
		dir = filepath.Dir(dir)
	}
	return "", cmp.Or(err, os.ErrNotExist)
}

// write merges the figures of this run with those of earlier ones.
func write() error {
	path, err := page()
	if err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	type line struct{ text, date string }
	all := map[string]line{}
	for _, m := range row.FindAllStringSubmatch(string(old), -1) {
		all[m[1]] = line{m[2], m[3]}
	}
	for id, text := range lines {
		all[id] = line{strings.ReplaceAll(text, "|", "/"), time.Now().UTC().Format(time.DateOnly)}
	}
	var b strings.Builder
	b.WriteString("# Torture\n\nWhat the last full run of each test measured (`make torture`, `make soak`), on " +
		fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()) +
		".\nThe load generator and the servers share the machine with the gateway. A test that fails says so here.\n\n| test | figures | run |\n|---|---|---|\n")
	ids := make([]string, 0, len(all))
	for id := range all {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", id, all[id].text, all[id].date)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
