package decisions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
)

// TestRemovalIsAsked checks that a client can remove a person's server only
// after approval, with any tool and door, and that it can remove servers that
// it added itself.
func TestRemovalIsAsked(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"remove", "set"} {
		for _, e := range []era{legacy, modern} {
			for _, action := range []string{"accept", "decline"} {
				t.Run(fmt.Sprintf("install/removal %s over HTTP %v %s", by, e, action), func(t *testing.T) {
					w := town(t, nil)
					s, params := w.streamable("/mcp", keyAdmin, e), w.removal(by, w.config())
					done := w.background(func(target) answer { return s.ask(mcp.MethodToolsCall, params, nil) })
					id := w.question()
					if !w.has(w.config(), server) {
						t.Error("it is removed before a person has answered")
					}
					if status, body := w.api(keyAdmin, http.MethodPost, "inbox/"+id, map[string]any{"action": "accept"}); status == http.StatusNoContent {
						t.Errorf("the yes of the one who asked is taken: %d %s", status, body)
					}
					if status, body := w.api(keyChief, http.MethodPost, "inbox/"+id, map[string]any{"action": action}); status != http.StatusNoContent {
						t.Errorf("%d %s", status, body)
					}
					w.removed(t, w.config(), done(), action == "accept")
				})
			}
			t.Run(fmt.Sprintf("install/removal %s on stdio %v, where nobody can be asked", by, e), func(t *testing.T) {
				w := town(t, nil)
				w.startStdio()
				path := filepath.Join(w.dir, "stdio.json")
				w.removed(t, path, w.piped(e).ask(mcp.MethodToolsCall, w.removal(by, path), nil), false)
			})
		}
	}
	t.Run("install/removal of what a client added", func(t *testing.T) {
		w := town(t, nil)
		s := w.streamable("/mcp", keyAdmin, legacy)
		for _, call := range []map[string]any{
			{"name": "mcp-all-in-one-add-mcp-server", "arguments": map[string]any{"name": "mine", "command": "true"}},
			{"name": "mcp-all-in-one-remove-mcp-server", "arguments": map[string]any{"name": "mine"}},
		} {
			if a := s.ask(mcp.MethodToolsCall, call, nil); a.reason != let || !strings.Contains(a.raw, `\"success\": true`) {
				t.Errorf("%v: %v", call, a)
			}
		}
		if w.has(w.config(), "mine") {
			t.Error("it is there")
		}
	})
}

// removal returns the params of a call that removes the server from the file at
// path.
func (w *world) removal(by, path string) map[string]any {
	if by == "remove" {
		return map[string]any{"name": "mcp-all-in-one-remove-mcp-server", "arguments": map[string]any{"name": server}}
	}
	file := w.file(path)
	delete(file["mcpServers"].(map[string]any), server)
	content, err := json.Marshal(file)
	if err != nil {
		w.t.Fatal(err)
	}
	return map[string]any{"name": "mcp-all-in-one-set-mcp-config", "arguments": map[string]any{"config-content": string(content), "apply": true}}
}

// removed checks the outcome of an attempt, and the file.
func (w *world) removed(t *testing.T, path string, a answer, want bool) {
	t.Helper()
	if reason := map[bool]string{true: let, false: string(mcp.PolicyDenied)}[want]; a.reason != reason {
		t.Errorf("it came to %v, want %s", a, reason)
	}
	if w.has(path, server) == want {
		t.Errorf("the server is in the file: %v", want)
	}
}

// has reports whether a config file has a server.
func (w *world) has(path, name string) bool {
	w.t.Helper()
	return w.file(path)["mcpServers"].(map[string]any)[name] != nil
}

func (w *world) file(path string) (content map[string]any) {
	w.t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &content)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return content
}
