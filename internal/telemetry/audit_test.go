package telemetry

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/traffic"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func observation(n int) *traffic.Observation {
	o := &traffic.Observation{Request: fmt.Appendf(nil, `{"name":"mail__send","arguments":{"to":"secret-%d"}}`, n)}
	o.Call = traffic.Call{
		Hop: traffic.HopClient, Start: time.Unix(1_700_000_000, 0), Principal: "key:ann", Session: "7", Schema: "default", Server: "mail",
		Method: "tools/call", Name: "mail__send", Status: traffic.StatusOK, Total: 1500 * time.Microsecond, ReqSize: 40, ResSize: int64(n),
	}
	o.Span = traffic.NewSpan("")
	return o
}

// lines returns the entries of all files of a trail, oldest first.
func lines(t *testing.T, path string, files int) []Entry {
	t.Helper()
	var list []Entry
	for i := files; i >= 0; i-- {
		name := path
		if i > 0 {
			name = fmt.Sprintf("%s.%d", path, i)
		}
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			var e Entry
			if err := json.Unmarshal(s.Bytes(), &e); err != nil {
				t.Errorf("%s: %v in %q", name, err, s.Text())
			}
			list = append(list, e)
		}
		f.Close()
	}
	return list
}

func TestAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "audit.jsonl")
	a := NewAudit(config.Audit{File: path, MaxSize: 1 << 20, MaxFiles: 3}, "", quiet())
	for i := range 100 {
		a.Observe(observation(i))
	}
	for _, method := range []string{"ping", "tools/list", "server/discover"} {
		o := observation(0)
		o.Method = method
		a.Observe(o)
	}
	down := observation(0)
	down.Hop = traffic.HopServer
	a.Observe(down)
	a.Close()
	got := lines(t, path, 0)
	if len(got) != 100 {
		t.Fatalf("%d lines", len(got))
	}
	e := got[42]
	if e.Principal != "key:ann" || e.Server != "mail" || e.Name != "mail__send" || e.Outcome != "ok" || e.Millis != 1.5 || e.ResBytes != 42 || len(e.Arguments) != 64 || len(e.Trace) != 32 {
		t.Errorf("%+v", e)
	}
	if e.Arguments == got[43].Arguments {
		t.Error("different arguments have the same hash")
	}
	raw := must.Read(t, path)
	if strings.Contains(raw, "secret-") {
		t.Error("fault/T33: arguments are in the trail")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAuditRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	a := NewAudit(config.Audit{File: path, MaxSize: 4000, MaxFiles: 3}, "", quiet())
	for i := range 200 {
		a.Observe(observation(i))
	}
	a.Close()
	var total int64
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 3*4000 {
		t.Errorf("%d bytes are kept", total)
	}
	got := lines(t, path, 2)
	for i, e := range got {
		if want := int64(200 - len(got) + i); e.ResBytes != want {
			t.Fatalf("line %d is entry %d, want %d", i, e.ResBytes, want)
		}
	}
	if len(got) < 10 {
		t.Errorf("only %d lines", len(got))
	}
}

// A failing disk delays no call, and only the oldest lines are lost.
func TestAuditWithoutDisk(t *testing.T) {
	dir := t.TempDir()
	blocked := must.Write(t, filepath.Join(dir, "blocked"), "")
	path := filepath.Join(blocked, "audit.jsonl")
	synctest.Test(t, func(t *testing.T) {
		a := NewAudit(config.Audit{File: path, MaxSize: 10 << 20, MaxFiles: 2}, "", quiet())
		a.Observe(observation(0))
		<-time.After(2 * auditFlush) // in simulated time
		synctest.Wait()
		if !a.Failing() {
			t.Error("fault/F18: nobody knows that the disk refuses")
		}
		for i := 1; i < auditRing+100; i++ {
			a.Observe(observation(i))
			synctest.Wait()
		}
		if a.Dropped() != 100 {
			t.Errorf("%d were dropped", a.Dropped())
		}
		must.OK(t, os.Remove(blocked))
		<-time.After(2 * auditRetry)
		synctest.Wait()
		if a.Failing() {
			t.Error("it does not recover")
		}
		a.Close()
	})
	got := lines(t, path, 0)
	if len(got) != auditRing || got[0].ResBytes != 100 {
		t.Errorf("fault/F18: %d lines, the first is entry %d", len(got), got[0].ResBytes)
	}
}
