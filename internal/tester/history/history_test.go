package history

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

func kept(id string, at time.Duration) KeptRun {
	return KeptRun{Run: Run{ID: id, Target: "demo", Method: "tools/call", Status: "ok", Start: time.Unix(0, 0).Add(at)}}
}

func ids(t *testing.T, h *History) string {
	t.Helper()
	runs, err := h.List("", "", "", MaxRuns)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range runs {
		out = append(out, r.ID)
	}
	return strings.Join(out, " ")
}

// TestHistoryIsShared checks that a console and a command line see each other's
// runs.
func TestHistoryIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "runs.jsonl")
	console, line := OpenHistory(path), OpenHistory(path)
	add := func(h *History, k KeptRun) {
		t.Helper()
		must.OK(t, h.Add(k))
	}
	big := kept("big", 1)
	big.Result, big.Kept, big.Wire = json.RawMessage(`"`+strings.Repeat("x", maxSavedResult)+`"`), true, []WireFrame{{Body: "wire"}}
	add(console, big)
	add(line, kept("two", 2))
	running := kept("three", 3)
	running.Status = "running"
	add(console, running)
	if got := ids(t, console); got != "three two big" {
		t.Errorf("the console has %s", got)
	}
	if got := ids(t, line); got != "two big" {
		t.Errorf("the command line has %s", got)
	}
	if k, ok := console.Get("big"); !ok || len(k.Wire) != 1 || !k.Kept || len(k.Result) != len(big.Result) {
		t.Errorf("the console has lost the large result: %+v", k.Run)
	}
	if k, ok := line.Get("bi"); !ok || k.Kept || k.Result != nil {
		t.Errorf("a result that is too large came back: %v %+v", ok, k.Run)
	}
	must.OK(t, line.Clear())
	if got := ids(t, console); got != "three" {
		t.Errorf("after the other one forgot, the console has %s", got)
	}
	add(console, kept("four", 4))
	if got := ids(t, line); got != "four" {
		t.Errorf("after forgetting, the command line has %s", got)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		h := OpenHistory("")
		large := json.RawMessage(`"` + strings.Repeat("x", 10<<20) + `"`)
		for i := range MaxRuns + 10 {
			k := kept(fmt.Sprint(i), time.Duration(i))
			if i%50 == 0 {
				k.Result = large
			}
			must.OK(t, h.Add(k))
		}
		if len(h.runs) != MaxRuns || h.bytes > maxRunBytes {
			t.Errorf("%d runs, %d bytes", len(h.runs), h.bytes)
		}
	})
	t.Run("file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.jsonl")
		h := OpenHistory(path)
		other := OpenHistory(path)
		result := json.RawMessage(`"` + strings.Repeat("x", 40<<10) + `"`)
		last := ""
		for i := range 260 {
			k := kept(fmt.Sprint(i), time.Duration(i))
			k.Result, last = result, k.ID
			must.OK(t, h.Add(k))
			if i == 100 {
				ids(t, other)
			}
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > maxHistoryFile || info.Size() < keptHistoryFile/2 || info.Mode().Perm() != 0o600 {
			t.Errorf("the file has %d bytes and mode %v", info.Size(), info.Mode())
		}
		if got := ids(t, other); !strings.HasPrefix(got, last+" ") || strings.HasSuffix(got, " 0") {
			t.Errorf("another process has %.40s … %s", got, got[len(got)-10:])
		}
	})
}

// TestHistoryAfterACrash reads the complete lines and appends after an
// incomplete one.
func TestHistoryAfterACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	first := kept("one", 1)
	must.Write(t, path, append(appendRun(nil, &first), `{"id":"two","tar`...))
	h := OpenHistory(path)
	if got := ids(t, h); got != "one" {
		t.Errorf("got %s", got)
	}
	must.OK(t, h.Add(kept("three", 3)))
	if got := ids(t, OpenHistory(path)); got != "three one" {
		t.Errorf("got %s", got)
	}
}

func TestImportedHistory(t *testing.T) {
	h, again := OpenHistory(""), OpenHistory("")
	must.OK(t, h.Import([]KeptRun{kept("one", 1), kept("two", 2)}))
	all, err := h.Export()
	if err != nil {
		t.Fatal(err)
	}
	raw := must.JSON(t, all)
	var back []KeptRun
	must.Parse(t, raw, &back)
	if err := again.Import(back); err != nil || ids(t, again) != "two one" {
		t.Errorf("%v: %s", err, ids(t, again))
	}
	if err := again.Import([]KeptRun{{Run: Run{ID: "x"}}}); err == nil {
		t.Error("what is no run was imported")
	}
}

func TestRunTargetsHideSecrets(t *testing.T) {
	for _, tt := range []struct {
		in, want RunTarget
		complete bool
	}{
		{RunTarget{Command: []string{"npx", "server", "--port", "8"}}, RunTarget{Command: []string{"npx", "server", "--port", "8"}}, true},
		{RunTarget{Command: []string{"x", "--api-key", "abc", "--token=abc", "TOKEN=abc"}},
			RunTarget{Command: []string{"x", "--api-key", "***", "--token=***", "TOKEN=***"}}, false},
		{RunTarget{URL: "https://a.example/mcp?page=1"}, RunTarget{URL: "https://a.example/mcp?page=1"}, true},
		{RunTarget{URL: "https://me:pw@a.example/mcp?token=abc&x=1"}, RunTarget{URL: "https://%2A%2A%2A@a.example/mcp?token=%2A%2A%2A&x=1"}, false},
	} {
		got := tt.in.Redacted()
		if got.String() != tt.want.String() || got.Complete() != tt.complete {
			t.Errorf("%v became %v, complete %v", tt.in, got, got.Complete())
		}
	}
}

// TestImportIsBounded checks that the whole of a run counts, whatever it is made
// of, and that large parameters are not kept.
func TestImportIsBounded(t *testing.T) {
	large := strings.Repeat("a", 3<<20)
	quoted := json.RawMessage(`"` + large + `"`)
	for name, run := range map[string]Run{
		"params": {Params: quoted}, "error": {Error: quoted}, "message": {Message: large}, "name": {Name: large}, "target": {From: &RunTarget{Command: []string{large}}},
	} {
		h := OpenHistory("")
		for i := range 30 {
			run.ID, run.Method, run.Status = fmt.Sprint(i), "tools/call", "ok"
			must.OK(t, h.Import([]KeptRun{{Run: run}}))
		}
		kept := 0
		for _, k := range h.runs {
			kept += len(k.Params) + len(k.Error) + len(k.Message) + len(k.Name)
			if k.From != nil {
				kept += len(k.From.Command[0])
			}
		}
		if kept > maxRunBytes {
			t.Errorf("%s: %d bytes are kept", name, kept)
		}
		if name == "params" && kept != 0 {
			t.Errorf("large parameters are kept: %d bytes", kept)
		}
	}
}
