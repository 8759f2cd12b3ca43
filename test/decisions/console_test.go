package decisions

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"mcp-all-in-one/internal/mcp"
)

var taskIn = regexp.MustCompile(`"taskId":\s*"([^"]+)"`)

// taskID returns the first task id in an answer.
func taskID(raw string) string {
	if m := taskIn.FindStringSubmatch(raw); m != nil {
		return m[1]
	}
	return ""
}

// protocols are the names of the eras in the console.
var protocols = map[era]string{legacy: mcp.V2025_11_25, modern: mcp.V2026_07_28}

// A benched is a session of the Bench.
type benched struct {
	w      *world
	as, id string
}

// openBench opens a session of the Bench. It offers no client capabilities to
// servers, because no person is there to answer.
func (w *world) openBench(as string, to map[string]any, e era) session {
	aim := maps.Clone(to)
	aim["protocol"], aim["offer"] = protocols[e], []string{}
	status, body := w.api(as, http.MethodPost, "bench", map[string]any{"target": aim, "fresh": true})
	var opened struct{ ID string }
	if status != http.StatusOK || json.Unmarshal([]byte(body), &opened) != nil {
		return refused{judgedAPI(status, body)}
	}
	return &benched{w, as, opened.ID}
}

// judgedAPI returns the outcome of an error of the console's API.
func judgedAPI(status int, body string) answer {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return answer{shutOut, fmt.Sprintf("%d %s", status, body)}
	}
	return answer{reasonIn(body), fmt.Sprintf("%d %s", status, body)}
}

func (s *benched) ask(method string, params map[string]any, _ http.Header) answer {
	status, body := s.w.api(s.as, http.MethodPost, "bench/"+s.id+"/calls", map[string]any{"method": method, "params": params})
	var run struct {
		ID, Status, Message string
		Error               json.RawMessage
	}
	if status != http.StatusAccepted || json.Unmarshal([]byte(body), &run) != nil {
		return judgedAPI(status, body)
	}
	id := run.ID
	ended := s.w.untilEvent(s.as, func() bool {
		status, body = s.w.api(s.as, http.MethodGet, "runs/"+id, nil)
		return status != http.StatusOK || json.Unmarshal([]byte(body), &run) != nil || run.Status != "running"
	})
	switch {
	case !ended:
		return answer{unclear, "the run does not end: " + body}
	case status != http.StatusOK:
		return judgedAPI(status, body)
	case run.Status == "error":
		return refusal(run.Error)
	case run.Status == "ok" || run.Status == "tool_error":
		_, result := s.w.api(s.as, http.MethodGet, "runs/"+id+"/body", nil)
		return outcome([]byte(result))
	}
	return answer{reasonIn(body), body}
}

// bench calls the tool in a session of the Bench.
func (w *world) bench(as string, to map[string]any, e era, name string) attempt {
	return callTool(w.openBench(as, to, e), name)
}

// suite runs a test file that calls the tool. The test expects another result,
// so that its problem contains the result of the tool.
func (w *world) suite(as, to, name string) attempt {
	return func(t target) answer {
		arguments, err := json.Marshal(t.arguments)
		if err != nil {
			w.t.Fatal(err)
		}
		text := fmt.Sprintf("target: %q\ntests:\n  - name: one\n    call: %s\n    args: %s\n    expect: { equals: never }\n", to, name, arguments)
		dir := filepath.Join(w.dir, "mcp-tests")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "one.yaml"), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
		status, body := w.api(as, http.MethodPost, "suites/one/run", map[string]any{})
		if status != http.StatusAccepted {
			return judgedAPI(status, body)
		}
		var suite struct {
			IsRunning bool
			Runs      []struct {
				Error   string
				Results []struct{ Problems []string }
			}
		}
		w.untilEvent(as, func() bool {
			status, body = w.api(as, http.MethodGet, "suites/one", nil)
			suite.IsRunning = false
			return status != http.StatusOK || json.Unmarshal([]byte(body), &suite) != nil || !suite.IsRunning
		})
		if strings.Contains(body, ran) {
			return answer{let, body}
		}
		if len(suite.Runs) == 0 {
			return answer{unclear, body}
		}
		last := suite.Runs[len(suite.Runs)-1]
		said, err := json.Marshal(last)
		if err != nil {
			w.t.Fatal(err)
		}
		return answer{reasonIn(string(said)), string(said)}
	}
}

// command calls the tool with the command line, which finds the gateway itself.
// It checks nothing before sending.
func (w *world) command(to, name string) attempt {
	return func(t target) answer {
		arguments, err := json.Marshal(t.arguments)
		if err != nil {
			w.t.Fatal(err)
		}
		return w.run("", "call", to, name, "-c", w.config(), "--no-validate", "--json", "--args", string(arguments))
	}
}

// scriptCommand calls the tool in a script of the command line.
func (w *world) scriptCommand() attempt {
	return func(t target) answer { return w.run(scriptOf(t), "script", "-", "-c", w.config()) }
}

// run runs a command of the program.
func (w *world) run(input string, args ...string) answer {
	p := w.program(args...)
	cmd := exec.CommandContext(w.t.Context(), p.Path, p.Args...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), p.Env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return answer{let, string(out)}
	}
	return answer{reasonIn(string(out)), string(out)}
}
