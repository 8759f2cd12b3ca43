package code

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A renamed tool is shown and called by its configured name in every mode, and
// the rules for it hold for both of its names.
func TestRenamed(t *testing.T) {
	exe, err := json.Marshal(mcptest.BuildProduct(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"compact", "code", "search"} {
		t.Run(mode, func(t *testing.T) {
			c := &client{t: t, gw: mcptest.GatewayStdio(t, fmt.Sprintf(`{"mode":%q,"mcpServers":{"demo":{"command":%s,"args":["demo"],"tools":{
				"echo":{"rename":"say it","description":"MY OWN TEXT"},
				"add":{"rename":"plus","arguments":{"b":{"value":40}}},
				"get_audio":{"arguments":{"zz":{"value":1}}},
				"fail":{"rename":"break","ask":true},
				"get_image":{"rename":"flow","enabled":false}}}}}`, mode, exe))}
			c.gw.Initialize(mcp.V2025_11_25, `{}`)
			const wrong = "tools.get_audio.arguments.zz is wrong: the tool has no argument of that name"
			if c.gw.Says(wrong); strings.Count(c.gw.Stderr(), wrong) != 1 || strings.Contains(c.gw.Stderr(), "tools.add") {
				t.Errorf("the log is %s", c.gw.Stderr())
			}
			one := c.call("inspect", map[string]any{"server_name": "demo", "tool_name": "say it"}).text()
			if !strings.Contains(one, "MY OWN TEXT") || strings.Contains(one, "echo") || strings.Contains(one, "Say a message back") {
				t.Errorf("inspect shows %s", one)
			}
			exec := func(tool string, arguments map[string]any) string {
				return c.call("exec", map[string]any{"server_name": "demo", "tool_name": tool, "arguments": arguments}).text()
			}
			for _, name := range []string{"say it", "echo"} {
				if got := exec(name, map[string]any{"message": "hi"}); got != "hi" {
					t.Errorf("%s says %s", name, got)
				}
			}
			for _, name := range []string{"plus", "add"} {
				if got := exec(name, map[string]any{"a": 2}); !strings.Contains(got, "42") {
					t.Errorf("%s says %s", name, got)
				}
				if got := exec(name, map[string]any{"a": 2, "b": 3}); !strings.Contains(got, `"success": false`) {
					t.Errorf("%s takes what the configuration sets: %s", name, got)
				}
			}
			for _, name := range []string{"break", "fail"} {
				if got := exec(name, nil); !strings.Contains(got, "policy_denied") {
					t.Errorf("%s is not asked about: %s", name, got)
				}
			}
			for _, name := range []string{"flow", "get_image"} {
				if got := exec(name, nil); !strings.Contains(got, "not found on server 'demo'. Available: ['say it', ") {
					t.Errorf("%s says %s", name, got)
				}
			}
			if mode != "code" {
				return
			}
			const code = `return [await tools.demo.say_it({message: 'a'}), await tools.demo['say it']({message: 'b'}), await tools.demo.echo({message: 'c'}), await tools.demo.plus({a: 2})]`
			if got := c.run(code).text(); got != `["a","b","c",{"sum":42}]` {
				t.Errorf("a script gets %s", got)
			}
		})
	}
}

// TestAliasWhileStarting checks that a script that calls a tool by its
// identifier waits for a server that is starting.
func TestAliasWhileStarting(t *testing.T) {
	t.Run("code/alias while starting", func(t *testing.T) {
		gate := filepath.Join(t.TempDir(), "gate")
		if out, err := exec.Command("mkfifo", gate).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		slow := shell(t, "read line < "+gate+";")
		slow["tools"] = map[string]any{"echo": map[string]any{"rename": "say-it"}}
		c := &client{t: t, gw: mcptest.GatewayStdio(t, encode(t, map[string]any{"mode": "code", "startWait": "0s", "mcpServers": map[string]any{"slow-one": slow, "demo": shell(t, "")}}))}
		c.gw.Initialize(mcp.V2025_11_25, `{}`)
		id := c.send("run", map[string]any{"code": `await tools.demo.add({a: 1, b: 2}); return await tools.slow_one.say_it({message: 'at last'})`}, `"progressToken":"p"`)
		c.gw.Notification(mcp.NotificationProgress) // of demo
		if err := os.WriteFile(gate, []byte("go\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(t, c.gw.Answer(fmt.Sprintf("%q", id))).text(); got != "at last" {
			t.Errorf("it is %s", got)
		}
	})
}
