package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestClientRules translates entries as the documentation of each client
// writes them. A text that a client does not read as a variable is none here
// either, and what has no translation is named.
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
		{"file", "our own", `{"command":"x","args":["$HOME","$${A}","${secret:a}"],"env":{"K":"${env:KEY}","L":"${input:i}"}}`, `{"command":"x","args":["$HOME","$${A}","${secret:a}"],"env":{"K":"${env:KEY}","L":"${secret:i}"}}`, "secret set i"},
	} {
		t.Run("true/10 "+test.client+" "+test.name, func(t *testing.T) {
			a := &Env{Getenv: os.LookupEnv}
			c := anyClient()
			if test.client != "file" {
				var err error
				if c, err = Find(a, test.client); err != nil {
					t.Fatal(err)
				}
			}
			got := translate(a, c, foreign{Name: "n", raw: json.RawMessage(test.in), dir: home})
			var want, have map[string]any
			if err := json.Unmarshal([]byte(strings.ReplaceAll(test.want, "HOME/key", filepath.ToSlash(home)+"/key")), &want); err != nil {
				t.Fatal(err)
			}
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

// TestClientFileForm imports from and connects to every client when its file
// has a byte order mark and the line breaks of Windows. Both stay.
func TestClientFileForm(t *testing.T) {
	for _, c := range All() {
		t.Run("true/10 "+c.ID, func(t *testing.T) {
			m := newMachine(t, c.ID)
			m.sample = []byte("\ufeff" + strings.ReplaceAll(string(m.sample), "\n", "\r\n"))
			if err := os.WriteFile(m.file, m.sample, 0o640); err != nil {
				t.Fatal(err)
			}
			if out, _ := m.run(0, "import", c.ID); !strings.Contains(out, "\timported\n") {
				t.Errorf("imported: %s", out)
			}
			m.run(0, "connect", c.ID)
			m.hasOwnEntry()
			text := m.content()
			if !strings.HasPrefix(text, "\ufeff") || strings.Count(text, "\ufeff") != 1 {
				t.Errorf("the mark is lost: %q", text)
			}
			if strings.Count(text, "\n") != strings.Count(text, "\r\n") {
				t.Errorf("lines end in two ways: %q", text)
			}
			// A change since the connection means that the entry is taken out again.
			if err := os.WriteFile(m.file, []byte(text+"\r\n"), 0o640); err != nil {
				t.Fatal(err)
			}
			m.run(0, "disconnect", c.ID)
			if text := m.content(); strings.Contains(text, OwnEntry) || !strings.HasPrefix(text, "\ufeff") || strings.Count(text, "\n") != strings.Count(text, "\r\n") {
				t.Errorf("disconnected: %q", text)
			}
		})
	}
}

// TestOpenCodeHolder reads and writes the servers where the second version of
// OpenCode has them.
func TestOpenCodeHolder(t *testing.T) {
	t.Run("true/10 mcp.servers", func(t *testing.T) {
		m := newMachine(t, "opencode")
		m.sample = []byte(`{"mcp": {"servers": {"a": {"type": "local", "command": ["ls"], "disabled": true}}}}`)
		if err := os.WriteFile(m.file, m.sample, 0o640); err != nil {
			t.Fatal(err)
		}
		m.run(0, "import", "opencode")
		out, _ := m.run(0, "export", "json")
		says(t, out, `"a"`, `"enabled": false`)
		m.run(0, "connect", "opencode")
		m.hasOwnEntry()
		m.run(0, "disconnect", "opencode")
	})
}

func TestGeminiExcluded(t *testing.T) {
	t.Run("true/10 mcp.excluded", func(t *testing.T) {
		m := newMachine(t, "gemini")
		if err := os.WriteFile(m.file, []byte(`{"mcp": {"excluded": ["a"]}, "mcpServers": {"a": {"command": "ls"}, "b": {"command": "ls"}}}`), 0o640); err != nil {
			t.Fatal(err)
		}
		m.run(0, "import", "gemini")
		out, _ := m.run(0, "list")
		says(t, out, "\ta\tdisabled\t", "\tb\tconfigured\t")
	})
}

// TestImportOneBadFile imports the rest when one file cannot be read, and says
// which.
func TestImportOneBadFile(t *testing.T) {
	t.Run("true/10 one bad file", func(t *testing.T) {
		m := newMachine(t, "gemini")
		cursor := filepath.Join(os.Getenv("HOME"), ".cursor", "mcp.json")
		if err := os.MkdirAll(filepath.Dir(cursor), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(cursor, []byte(`{"mcpServers": {`), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs := m.run(2, "import", "cursor", "windsurf", "gemini")
		says(t, out, "new\timported\n", "old\timported\n")
		says(t, errs, cursor, "Windsurf has no file here")
		if out, _ = m.run(0, "export", "json"); !strings.Contains(out, "GEMINI_TOOL_KEY") {
			t.Errorf("imported: %s", out)
		}
	})
}

// TestImportCollision gives a server another name where its own is taken.
func TestImportCollision(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		out  string
		want []string
	}{
		"skipped":          {nil, "files\tskipped: another server is called files: --rename files=NEW, --replace\napi\timported\n", []string{`"/srv"`}},
		"renamed":          {[]string{"--rename", "files=theirs"}, "files\timported as theirs\napi\timported\n", []string{`"/srv"`, `"/tmp"`, `"theirs"`}},
		"renamed to taken": {[]string{"--rename", "files=other"}, "files\tskipped: another server is called other: --rename files=NEW, --replace\napi\timported\n", []string{`"/srv"`}},
		"replaced":         {[]string{"--replace"}, "files\timported\napi\timported\n", []string{`"/tmp"`}},
	} {
		t.Run("true/10 "+name, func(t *testing.T) {
			m, gateway := moving(t, `{"mcpServers": {"files": {"command": "fs", "args": ["/srv"]}, "other": {"command": "o"}}}`)
			out, _ := m.run(0, append([]string{"-c", gateway, "import", "cursor"}, test.args...)...)
			if out != test.out {
				t.Errorf("%q, want %q", out, test.out)
			}
			says(t, fileText(t, gateway), test.want...)
		})
	}
	t.Run("true/10 renamed by moving", func(t *testing.T) {
		m, gateway := moving(t, `{"mcpServers": {"files": {"command": "fs", "args": ["/srv"]}}}`)
		_, errs := m.run(0, "-c", gateway, "connect", "cursor", "--move", "--rename", "files=theirs")
		says(t, errs, "moved: files as theirs\n", "moved: api\n")
		says(t, fileText(t, gateway), `"/srv"`, `"/tmp"`, `"theirs"`)
		m.run(0, "-c", gateway, "disconnect", "cursor")
		if m.content() != string(m.sample) || strings.Contains(fileText(t, gateway), "theirs") {
			t.Errorf("left are\n%s\n%s", m.content(), fileText(t, gateway))
		}
	})
}

// TestImportRefused skips a server that our file cannot have, and says why.
func TestImportRefused(t *testing.T) {
	t.Run("true/10 a name with a space", func(t *testing.T) {
		m, gateway := moving(t, `{"mcpServers": {}}`)
		m.sample = []byte(`{"mcpServers": {"my files": {"command": "fs"}, "api": {"command": "api"}}}`)
		if err := os.WriteFile(m.file, m.sample, 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := m.run(0, "-c", gateway, "import", "cursor")
		says(t, out, "my files\tskipped: ", "white space", "api\timported\n")
		out, _ = m.run(0, "-c", gateway, "import", "cursor", "--rename", "my files=files")
		says(t, out, "my files\timported as files\n")
	})
}

// TestImportClientBeforeFolder reads VS Code's file where a folder has its
// name, and a client's file that is named by its path by that client's rules.
func TestImportClientBeforeFolder(t *testing.T) {
	t.Run("true/15 a folder called vscode", func(t *testing.T) {
		m := newMachine(t, "vscode")
		t.Chdir(t.TempDir())
		if err := os.Mkdir("vscode", 0o700); err != nil {
			t.Fatal(err)
		}
		out, _ := m.run(0, "import", "vscode")
		says(t, out, "perplexity\timported\n")
		_, errs := m.run(2, "import", "./vscode")
		says(t, errs, "it is a folder")
	})
	t.Run("true/10 a file of Crush", func(t *testing.T) {
		m := newMachine(t, "crush")
		t.Chdir(t.TempDir())
		if err := os.WriteFile("crush.json", []byte(`{"mcp": {"a": {"command": "ls", "timeout": 9, "env": {"K": "$KEY"}}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		m.run(0, "import", "./crush.json")
		out, _ := m.run(0, "export", "json")
		says(t, out, `"9s"`, `"${KEY}"`)
	})
}
