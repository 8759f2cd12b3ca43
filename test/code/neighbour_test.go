package code

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
)

// TestNeighbours checks that scripts that use all resources do not block the
// calls of another client, and leave nothing behind.
func TestNeighbours(t *testing.T) {
	t.Run("code/bomb neighbours", func(t *testing.T) {
		all := town(t, `"scripts":{"cpu":"500ms"},`, map[string][]string{"bad": {"mode:code"}, "good": nil}, "/mcp")
		ended := make(chan string, 2)
		for _, code := range []string{"while (true) {}", "const a = []; while (true) try { a.push('x'.repeat(1 << 20) + a.length) } catch {}"} {
			go func() {
				reply, err := all["bad"].Try(t.Context(), "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"run","arguments":{"code":%q}}}`, code[:5], code))
				if err != nil {
					ended <- err.Error()
					return
				}
				ended <- reply.Body
			}()
		}
		calls, slowest := 0, time.Duration(0)
		for open := 2; open > 0; {
			select {
			case body := <-ended:
				open--
				if !strings.Contains(body, "out of processor time: a script may compute for 500ms") && !strings.Contains(body, "out of memory: a script may use 64 MB") {
					t.Errorf("a bomb ended with %.300s", body)
				}
			default:
				began := time.Now()
				if r := all["good"].call("demo__echo", map[string]any{"message": "hi"}); r.text() != "hi" {
					t.Fatalf("the call of another client: %+v", r)
				}
				calls++
				slowest = max(slowest, time.Since(began))
			}
		}
		t.Logf("%d calls of another client meanwhile, the slowest took %v", calls, slowest)
	})
}

// TestAudit checks that each call of a script is in the audit trail with its
// own name and the door run, besides the run with the hash of its code.
func TestAudit(t *testing.T) {
	t.Run("code/audit", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "audit.jsonl")
		const code = "await tools.demo.add({a: 1, b: 2}); try { await tools.demo.nope({}) } catch {}; return 1"
		c := start(t, fmt.Sprintf(`"mode":"code","audit":{"file":%q},`, file), `{}`)
		if text := c.run(code).text(); text != "1" {
			t.Fatal(text)
		}
		c.gw.Stop()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(code))
		found := map[string]bool{}
		for line := range strings.Lines(string(data)) {
			var e struct{ Door, Method, Name, Item, Server, Outcome, Script string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			if e.Method == mcp.MethodToolsCall {
				found[strings.Join([]string{e.Door, e.Name, e.Server, e.Outcome, e.Script}, " ")] = true
			}
		}
		for _, want := range []string{"run add demo ok ", "run nope demo error ", "session run  ok " + hex.EncodeToString(sum[:])} {
			if !found[want] {
				t.Errorf("the trail lacks %q: %v", want, found)
			}
		}
	})
}

// TestScriptToolIsHidden checks that clients cannot use the tool of the command
// line.
func TestScriptToolIsHidden(t *testing.T) {
	t.Run("code/script hidden", func(t *testing.T) {
		c := start(t, `"mode":"full",`, `{}`)
		m := c.gw.Ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":%q,"arguments":{"code":"return 1"}}}`, mcp.ScriptTool))
		if m.Error == nil {
			t.Errorf("a client reaches the tool of the command line: %s", m.Raw)
		}
	})
}
