package upstream_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/upstream"
)

// TestRestartIsNoWarning checks that a restart on request is not logged as a failure.
func TestRestartIsNoWarning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	w := newWorld(t, worldOptions{log: log}, hostile(t, "a"))
	was := w.state("a", upstream.Ready)
	w.up("a").Restart()
	w.await("new process", "a", func(s upstream.Status) bool { return s.State == upstream.Ready && s.PID != was.PID })
	text := must.Read(t, path)
	if strings.Contains(text, "level=WARN") || !strings.Contains(text, `msg="upstream down" upstream=a state=restarting`+"\n") {
		t.Errorf("log:\n%s", text)
	}
}

// TestNotInstalled checks that a missing command counts as failed, not as crashed,
// and that this is logged once.
func TestNotInstalled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	gone := config.NewServer("gone")
	gone.Schema, gone.Type, gone.Command = "default", config.TypeStdio, "no-such-command-here"
	gone.RestartDelay = time.Millisecond
	w := newWorld(t, worldOptions{log: log}, gone)
	st := w.await("tried often", "gone", func(s upstream.Status) bool { return s.Restarts > 8 && s.State != upstream.Starting })
	if st.State != upstream.Failed || st.Reason.String() != `starting "no-such-command-here": command not found in PATH` {
		t.Errorf("state %s: %s", st.State, st.Reason)
	}
	text := must.Read(t, path)
	warned, all := 0, strings.Count(text, `msg="upstream down"`)
	for line := range strings.Lines(text) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, `msg="upstream down"`) {
			warned++
		}
	}
	if warned != 1 || all < 8 {
		t.Errorf("%d warnings among %d lines, want one\n%s", warned, all, text)
	}
}
