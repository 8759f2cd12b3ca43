package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestMaskValues(t *testing.T) {
	for entry, want := range map[string]string{
		`{"env":{"A":"secret-long-one","B":"secret-long"}}`:      `{"env":{"A":"***","B":"***"}}`,
		`{"command":{"path":"x","env":{"TOKEN":"sk-012345"}}}`:   `{"command":{"path":"x","env":{"TOKEN":"***"}}}`,
		`{"requestOptions":{"headers":{"A":"Bearer abc"}}}`:      `{"requestOptions":{"headers":{"A":"***"}}}`,
		`{"headers":{"Authorization":"Bearer abc","X-Size":10}}`: `{"headers":{"Authorization":"***","X-Size":10}}`,
	} {
		if got := maskValues(entry, []byte(entry)); got != want {
			t.Errorf("%s is shown as %s, want %s", entry, got, want)
		}
	}
}

// TestClientRules translates entries as the documentation of each client shows
// them. Text that a client does not read as a variable stays literal, and
// anything without a translation is reported.
func TestClientRules(t *testing.T) {
	home := t.TempDir()
	for _, test := range []struct{ client, name, in, want, notes string }{
		{"claude-desktop", "no variables", `{"command":"x","args":["$HOME","${HOME}"],"env":{"A":"{env:B}"}}`, `{"command":"x","args":["$HOME","$${HOME}"],"env":{"A":"{env:B}"}}`, ""},
		{"claude-code", "braces", `{"type":"http","url":"${BASE:-https://x.example}/mcp","headers":{"Authorization":"Bearer ${KEY}"},"timeout":60000}`, `{"type":"http","url":"${BASE:-https://x.example}/mcp","headers":{"Authorization":"Bearer ${KEY}"},"timeout":60000}`, ""},
		{"claude-code", "no dollar", `{"command":"x","args":["$HOME","${env:HOME}"]}`, `{"command":"x","args":["$HOME","$${env:HOME}"]}`, ""},
		{"cursor", "editor", `{"command":"x","args":["${userHome}/a","${workspaceFolder}${/}b"],"env":{"K":"${env:KEY}","L":"${KEY}"},"envFile":".env"}`, `{"command":"x","args":["${userHome}/a","${workspaceFolder}/b"],"env":{"K":"${env:KEY}","L":"$${KEY}"}}`, "means another folder outside the client: ${workspaceFolder}|not taken over: envFile"},
		{"vscode", "inputs", `{"type":"stdio","command":"x","env":{"K":"${input:key}","L":"${env:L}"}}`, `{"command":"x","env":{"K":"${secret:key}","L":"${env:L}"}}`, "store it: mcp-all-in-one secret set key"},
		{"vscode", "place", `{"command":"x","args":["${workspaceFolderBasename}"]}`, `{"command":"x","args":["$${workspaceFolderBasename}"]}`, "means nothing outside the client: ${workspaceFolderBasename}"},
		{"copilot", "all", `{"type":"local","command":"x","args":["${A:-b}"],"env":{"K":"$KEY","L":"${KEY}"},"tools":["a"],"timeout":5000}`, `{"command":"x","args":["${A:-b}"],"env":{"K":"${KEY}","L":"${KEY}"},"allow":["a"],"timeout":5000}`, ""},
		{"windsurf", "env and file", `{"serverUrl":"https://x.example/mcp","headers":{"A":"Bearer ${env:KEY}","B":"${file:/run/key}"}}`, `{"url":"https://x.example/mcp","headers":{"A":"Bearer ${env:KEY}","B":"${file:/run/key}"}}`, ""},
		{"zed", "seconds", `{"command":"x","args":["$HOME"],"timeout":90}`, `{"command":"x","args":["$HOME"],"timeout":"90s"}`, ""},
		{"codex", "names of variables", `{"command":"x","args":["${A}"],"env_vars":["A",{"name":"B","source":"local"}],"tool_timeout_sec":1.5,"startup_timeout_sec":9}`, `{"command":"x","args":["$${A}"],"inheritEnv":["A","B"],"timeout":"1.5s"}`, "not taken over: startup_timeout_sec"},
		{"codex", "headers", `{"url":"https://x.example/mcp","bearer_token_env_var":"T","http_headers":{"A":"${b}"},"env_http_headers":{"B":"V"}}`, `{"url":"https://x.example/mcp","headers":{"Authorization":"Bearer ${T}","A":"$${b}","B":"${V}"}}`, ""},
		{"gemini", "dollar", `{"command":"x","env":{"K":"$KEY","L":"Bearer ${KEY}"},"timeout":30000}`, `{"command":"x","env":{"K":"${KEY}","L":"Bearer ${KEY}"},"timeout":30000}`, ""},
		{"opencode", "curly", `{"type":"local","command":["x","{file:~/a}","${A}"],"environment":{"K":"{env:KEY}","F":"{file:./key.txt}"},"timeout":5000}`, `{"command":"x","args":["${file:~/a}","$${A}"],"env":{"K":"${KEY}","F":"${file:HOME/key.txt}"}}`, "not taken over: timeout"},
		{"cline", "seconds", `{"command":"x","env":{"K":"${env:KEY}"},"timeout":60,"disabled":true,"autoApprove":["a"]}`, `{"command":"x","env":{"K":"${env:KEY}"},"timeout":"60s","enabled":false}`, "not taken over: autoApprove"},
		{"cline", "large", `{"type":"streamableHttp","url":"https://x.example/mcp","timeout":1000000}`, `{"type":"http","url":"https://x.example/mcp"}`, "not taken over: timeout"},
		{"lmstudio", "no variables", `{"url":"https://x.example/mcp","headers":{"A":"${KEY}"}}`, `{"url":"https://x.example/mcp","headers":{"A":"$${KEY}"}}`, ""},
		{"kiro", "braces", `{"command":"x","env":{"K":"${KEY}"},"disabledTools":["a"],"timeout":60000}`, `{"command":"x","env":{"K":"${KEY}"},"deny":["a"],"timeout":60000}`, ""},
		{"goose", "stdio", `{"type":"stdio","name":"n","cmd":"x","args":["$HOME"],"envs":{"A":"$B"},"env_keys":["TOKEN"],"timeout":300,"available_tools":["a"]}`, `{"command":"x","args":["$HOME"],"env":{"A":"$B"},"inheritEnv":["TOKEN"],"timeout":"300s","allow":["a"]}`, "Goose keeps TOKEN itself: set it in the gateway's environment"},
		{"goose", "http", `{"type":"streamable_http","uri":"https://x.example/mcp","headers":{"A":"Bearer $TOKEN","B":"${MINE}"},"envs":{"MINE":"1"},"available_tools":[]}`, `{"type":"http","url":"https://x.example/mcp","headers":{"A":"Bearer ${TOKEN}","B":"1"}}`, ""},
		{"continue", "secrets", `{"name":"n","type":"streamable-http","url":"https://x.example/mcp","requestOptions":{"headers":{"A":"Bearer ${{ secrets.KEY }}"},"timeout":1},"connectionTimeout":8000}`, `{"type":"http","url":"https://x.example/mcp","headers":{"A":"Bearer ${secret:KEY}"}}`, "store it: mcp-all-in-one secret set KEY|not taken over: connectionTimeout|not taken over: requestOptions.timeout"},
		{"crush", "shell", `{"type":"http","url":"https://x.example/mcp","timeout":120,"disabled":false,"disabled_tools":["a"],"headers":{"A":"Bearer $KEY","B":"$(cat $HOME/key)","C":"${KEY:-x}"}}`, `{"type":"http","url":"https://x.example/mcp","timeout":"120s","deny":["a"],"headers":{"A":"Bearer ${KEY}","B":"${secret:n-b}","C":"${KEY:-x}"}}`, "store what $(cat $HOME/key) prints: mcp-all-in-one secret set n-b"},
		{"file", "secrets of a workflow", `{"command":"x","env":{"K":"${{ secrets.KEY }}","L":"${L}"}}`, `{"command":"x","env":{"K":"${secret:KEY}","L":"${L}"}}`, "store it: mcp-all-in-one secret set KEY"},
		{"file", "our own", `{"command":"x","args":["$HOME","$${A}","${secret:a}"],"env":{"K":"${env:KEY}","L":"${input:i}"}}`, `{"command":"x","args":["$HOME","$${A}","${secret:a}"],"env":{"K":"${env:KEY}","L":"${secret:i}"}}`, "secret set i"},
	} {
		t.Run("true/10 "+test.client+" "+test.name, func(t *testing.T) {
			a := &env.Env{Getenv: os.LookupEnv}
			c := anyClient()
			if test.client != "file" {
				var err error
				if c, err = Find(a, test.client); err != nil {
					t.Fatal(err)
				}
			}
			got := translate(a, c, foreign{Name: "n", raw: json.RawMessage(test.in), dir: home})
			var want, have map[string]any
			must.Parse(t, strings.ReplaceAll(test.want, "HOME/key", filepath.ToSlash(home)+"/key"), &want)
			raw, err := json.Marshal(got.entry)
			if err != nil || json.Unmarshal(raw, &have) != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if notes := strings.Join(got.notes, "|"); notes != test.notes && !(test.notes != "" && strings.Contains(notes, test.notes)) {
				t.Errorf("notes are %q, want %q", notes, test.notes)
			}
		})
	}
}

func TestUnifiedDiff(t *testing.T) {
	before := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"
	after := "a\nb\nC\nd\ne\nf\ng\nh\ni\nj\nk\n"
	want := "--- x\n+++ x\n@@ -1,6 +1,6 @@\n a\n b\n-c\n+C\n d\n e\n f\n@@ -8,3 +8,4 @@\n h\n i\n j\n+k\n"
	if diff := cmp.Diff(want, unifiedDiff("x", []byte(before), []byte(after))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
