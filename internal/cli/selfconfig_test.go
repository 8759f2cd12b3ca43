package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// settings is a client of the self-configuration tools.
type settings struct {
	*mcptest.RawStdio
	t      *testing.T
	path   string
	marker string
	next   int
}

// openSettings runs the product over stdio with one valid server, and does the
// handshake.
func openSettings(t *testing.T, capabilities string, args ...string) *settings {
	s := settingsOf(t, "", args...)
	s.Initialize("2025-06-18", capabilities)
	return s
}

// settingsOf runs the product with one valid server and others.
func settingsOf(t *testing.T, others string, args ...string) *settings {
	dir := t.TempDir()
	s := &settings{t: t, path: filepath.Join(dir, "mcp.json"), marker: filepath.Join(dir, "marker")}
	binary := mcptest.BuildProduct(t)
	must.Write(t, s.path, fmt.Sprintf(`{
  // kept
  "startWait": "1m",
  "mcpServers": {"fine": {"command": %q, "args": ["demo"], "env": {"KEY": "hunter2"}}%s}
}`, binary, others))
	s.RawStdio = mcptest.StartStdio(t, mcptest.Program{
		Path: binary, Args: append([]string{"stdio", "--watch", "-c", s.path}, args...), Env: []string{"HOME=" + dir, "XDG_STATE_HOME="},
	})
	return s
}

// run calls a tool and returns the text of its result.
func (s *settings) run(tool, arguments string) (text string, isError bool) {
	s.t.Helper()
	s.next++
	m := s.Ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"mcp-all-in-one-%s","arguments":%s}}`, s.next, tool, arguments))
	return resultText(s.t, m)
}

func resultText(t *testing.T, m mcptest.Message) (string, bool) {
	t.Helper()
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if m.Error != nil || json.Unmarshal(m.Result, &result) != nil || len(result.Content) != 1 {
		t.Fatalf("not a result with one text: %s", m.Raw)
	}
	return result.Content[0].Text, result.IsError
}

// object is like run, for tools that answer with JSON.
func (s *settings) object(tool, arguments string) map[string]any {
	s.t.Helper()
	text, _ := s.run(tool, arguments)
	var v map[string]any
	must.Parse(s.t, text, &v)
	return v
}

func (s *settings) file() string {
	s.t.Helper()
	return must.Read(s.t, s.path)
}

// neverRan checks that no command has created the marker.
func (s *settings) neverRan(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(s.marker); err == nil {
		t.Error("the marker was created")
	}
}

// touch returns an entry that would create the marker file.
func (s *settings) touch() string {
	// An approved server is sandboxed; it may write to its working directory.
	return fmt.Sprintf(`"command":"touch","args":[%q],"cwd":%q`, s.marker, filepath.Dir(s.marker))
}

func quote(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

func TestSelfConfiguration(t *testing.T) {
	t.Parallel()
	s := openSettings(t, `{}`)
	t.Run("show", func(t *testing.T) {
		v := s.object("show-mcp-config", `{}`)
		if v["configPath"] != s.path || strings.Contains(fmt.Sprint(v), "hunter2") || !strings.Contains(fmt.Sprint(v), "[REDACTED]") {
			t.Errorf("got %v", v)
		}
	})
	t.Run("validate", func(t *testing.T) {
		if v := s.object("validate-mcp-config", `{}`); v["valid"] != true || len(v["errors"].([]any)) != 0 {
			t.Errorf("got %v", v)
		}
		if v := s.object("validate-mcp-config", `{"config-file":null}`); v["valid"] != false || !strings.Contains(fmt.Sprint(v["errors"]), "config-file parameter must be a string") {
			t.Errorf("null: got %v", v)
		}
	})
	t.Run("schema", func(t *testing.T) {
		v := s.object("show-mcp-config-schema", `{}`)
		if v["schemaVersion"] != "http://json-schema.org/draft-07/schema#" || v["schema"] == nil {
			t.Errorf("got %v", v)
		}
	})
	t.Run("confined", func(t *testing.T) {
		for _, path := range []string{"../../../etc/passwd", "/etc/passwd", "/etc/hosts.json", "~/.ssh/id_rsa"} {
			text, isError := s.run("show-mcp-config", `{"config-file":`+quote(path)+`}`)
			if !isError || !strings.HasPrefix(text, "工具调用失败: ") || !strings.Contains(text, "路径遍历检测：不允许访问系统敏感文件") {
				t.Errorf("%s: got %s", path, text)
			}
		}
	})
	t.Run("door/11 nothing beside the config file", func(t *testing.T) {
		there := must.Write(t, filepath.Join(filepath.Dir(s.path), "there.json"), `{"mcpServers":{},"note":"private"}`)
		for _, name := range []string{"there.json", "other.json", "other.yaml", there} {
			file := `"config-file":` + quote(name)
			for tool, arguments := range map[string]string{
				"show-mcp-config": `{` + file + `}`, "validate-mcp-config": `{` + file + `}`, "remove-mcp-server": `{"name":"x",` + file + `}`,
				"set-mcp-config": `{"config-content":"{\"mcpServers\":{}}",` + file + `}`, "add-mcp-server": `{"name":"x","command":"y",` + file + `}`,
			} {
				if text, isError := s.run(tool, arguments); !isError || strings.Contains(text, "private") {
					t.Errorf("%s %s: got %s", tool, name, text)
				}
			}
		}
		if list, _ := filepath.Glob(filepath.Join(filepath.Dir(s.path), "other.*")); len(list) > 0 {
			t.Errorf("created %v", list)
		}
		if v := s.object("validate-mcp-config", `{"config-file":`+quote(s.path)+`}`); v["valid"] != true {
			t.Errorf("its own name: got %v", v)
		}
	})
	t.Run("set refuses", func(t *testing.T) {
		before := s.file()
		if text, isError := s.run("set-mcp-config", `{}`); !isError || !strings.Contains(text, "Missing required parameter 'config-content'") {
			t.Errorf("no content: got %s", text)
		}
		for _, content := range []string{`{"mcpServers":{"x":{"command":5}}}`, `{"mcpServers":`, `{"mcpServers":{},"server":{"host":"0.0.0.0"}}`} {
			if v := s.object("set-mcp-config", `{"config-content":`+quote(content)+`}`); v["success"] != false || len(v["errors"].([]any)) == 0 {
				t.Errorf("%s: got %v", content, v)
			}
		}
		if s.file() != before {
			t.Error("a refused change was written")
		}
	})
	t.Run("set", func(t *testing.T) {
		shown, _ := json.Marshal(s.object("show-mcp-config", `{}`)["config"])
		changed := strings.Replace(string(shown), `"mcpServers":{`, `"mcpServers":{"new":{"command":"x"},`, 1)
		v := s.object("set-mcp-config", `{"config-content":`+quote(changed)+`}`)
		if v["success"] != true || v["restartRequired"] != true || v["restartMessage"] != "MCP配置已更新。请重启mcp-all-in-one服务以应用新配置。" {
			t.Errorf("got %v", v)
		}
		if backup, _ := v["backupPath"].(string); !strings.HasPrefix(backup, s.path+".backup.") {
			t.Errorf("backup %q", backup)
		}
		if file := s.file(); !strings.Contains(file, "hunter2") || !strings.Contains(file, `"new"`) {
			t.Errorf("written: %s", file)
		}
	})
	t.Run("add and remove", func(t *testing.T) {
		if v := s.object("add-mcp-server", `{"name":"one","url":"https://example.com/mcp"}`); v["success"] != true || v["applied"] != true || fmt.Sprint(v["pending"]) != "[default/one]" {
			t.Errorf("add: got %v", v)
		}
		if v := s.object("add-mcp-server", `{"name":"one","command":"y"}`); v["success"] != false {
			t.Errorf("add again: got %v", v)
		}
		if v := s.object("remove-mcp-server", `{"name":"one"}`); v["success"] != true {
			t.Errorf("remove: got %v", v)
		}
		if v := s.object("remove-mcp-server", `{"name":"one"}`); v["success"] != false {
			t.Errorf("remove again: got %v", v)
		}
		if backups, _ := filepath.Glob(s.path + ".backup.*"); len(backups) > 5 {
			t.Errorf("%d backups are kept, want at most 5", len(backups))
		}
	})
}

// TestSelfConfigurationAbuse tries to run a command from a client without the
// user's approval. The marker file must never be created.
func TestSelfConfigurationAbuse(t *testing.T) {
	t.Parallel()
	t.Run("fault/T31", func(t *testing.T) {
		s := openSettings(t, `{"elicitation":{}}`)
		attempts := []struct{ name, tool, arguments string }{
			{"add", "add-mcp-server", `{"name":"evil",` + s.touch() + `}`},
			{"change what is fine", "add-mcp-server", `{"name":"fine","replace":true,` + s.touch() + `}`},
			{"replace the file", "set-mcp-config", `{"apply":true,"config-content":` + quote(`{"mcpServers":{"renamed":{`+s.touch()+`}}}`) + `}`},
			{"switch it on", "set-mcp-config", `{"apply":true,"config-content":` + quote(`{"mcpServers":{"renamed":{"enabled":true,`+s.touch()+`}}}`) + `}`},
			{"another name", "set-mcp-config", `{"apply":true,"config-content":` + quote(`{"mcpServers":{"again":{`+s.touch()+`}}}`) + `}`},
			{"by the environment", "add-mcp-server", `{"name":"env","command":"sh","args":["-c","touch $M"],"env":{"M":` + quote(s.marker) + `}}`},
			{"remove and add", "remove-mcp-server", `{"name":"again"}`},
			{"add again", "add-mcp-server", `{"name":"again",` + s.touch() + `}`},
			{"approve by writing the record", "set-mcp-config", `{"config-file":` + quote(s.path+".pending.json") + `,"config-content":"{}"}`},
		}
		answers := []string{
			`{"action":"decline"}`, `{"action":"cancel"}`, `{"action":"accept"}`, `{"action":"accept","content":{}}`,
			`{"action":"accept","content":{"approve":false}}`, `{"action":"accept","content":{"approve":"true"}}`,
		}
		for i, a := range attempts {
			s.attempt(a.tool, a.arguments, answers[i%len(answers)])
		}
		s.Signal(syscall.SIGHUP)
		if v := s.object("validate-mcp-config", `{}`); !strings.Contains(fmt.Sprint(v["warnings"]), "waits for approval") {
			t.Errorf("the entries do not wait: %v", v)
		}
		s.Finish(20 * time.Second)
		restart := mcptest.StartStdio(t, mcptest.Program{
			Path: mcptest.BuildProduct(t), Args: []string{"stdio", "-c", s.path}, Env: []string{"HOME=" + filepath.Dir(s.path), "XDG_STATE_HOME="},
		})
		restart.Initialize("2025-06-18", `{}`)
		restart.Ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		restart.Finish(20 * time.Second)
		s.neverRan(t)
		if !strings.Contains(s.Stderr(), "a client changed the configuration") {
			t.Error("nothing was logged")
		}
	})
	t.Run("accepted", func(t *testing.T) {
		s := openSettings(t, `{"elicitation":{}}`)
		question := s.attempt("add-mcp-server", `{"name":"wanted",`+s.touch()+`}`, `{"action":"accept","content":{"approve":true}}`)
		if !strings.Contains(question, "touch") || !strings.Contains(question, s.marker) {
			t.Errorf("the question does not show the whole command: %s", question)
		}
		waitFor(t, s.marker)
	})
	t.Run("over HTTP nobody", func(t *testing.T) {
		gw := mcptest.Gateway(t, `{"mcpServers":{}}`)
		c := mcptest.NewRawHTTP(t, gw.URL+"/mcp")
		c.Initialize("2025-06-18", `{}`)
		reply, err := c.Try(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp-all-in-one-add-mcp-server","arguments":{"name":"x","command":"y"}}}`)
		if err != nil || !strings.Contains(string(reply.Body), "not found") {
			t.Errorf("got %v %s", err, reply.Body)
		}
	})
	t.Run("switched off", func(t *testing.T) {
		s := openSettings(t, `{}`, "--no-self-config")
		if m := s.Ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); strings.Contains(m.Raw, "mcp-all-in-one-") {
			t.Errorf("shown: %s", m.Raw)
		}
	})
}

// The audit trail records that the user of the client agreed to a removal.
func TestAuditOfRemoval(t *testing.T) {
	t.Parallel()
	const tool, arguments, yes = "remove-mcp-server", `{"name":"fine"}`, `{"action":"accept","content":{"approve":true}}`
	for era, remove := range map[string]func(s *settings){
		"legacy": func(s *settings) {
			s.Initialize("2025-06-18", `{"elicitation":{}}`)
			s.attempt(tool, arguments, yes)
		},
		"modern": func(s *settings) {
			asked, raw := s.modern(tool, arguments, "")
			for key := range asked.InputRequests {
				_, raw = s.modern(tool, arguments, fmt.Sprintf(`,"inputResponses":{%q:%s},"requestState":%q`, key, yes, asked.RequestState))
			}
			if !strings.Contains(raw, "success") {
				s.t.Errorf("it is not removed: %s", raw)
			}
		},
	} {
		t.Run(era, func(t *testing.T) {
			trail := filepath.Join(t.TempDir(), "audit.jsonl")
			s := settingsOf(t, `},"audit":{"file":`+quote(trail))
			remove(s)
			must.Await(t, "the audit trail", func() bool {
				data, _ := os.ReadFile(trail)
				return strings.Contains(string(data), `"approval":{"by":"local","door":"elicitation"}`)
			})
		})
	}
}

// attempt calls a tool, answers the question that may follow, and returns the
// question.
func (s *settings) attempt(tool, arguments, answer string) (question string) {
	s.t.Helper()
	s.next++
	id := fmt.Sprint(s.next)
	s.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"mcp-all-in-one-%s","arguments":%s}}`, id, tool, arguments))
	for {
		m := s.Expect("an answer or a question", func(m *mcptest.Message) bool {
			return m.Method == "elicitation/create" || m.Method == "" && string(m.ID) == id
		})
		if m.Method == "" {
			return question
		}
		question = m.Raw
		s.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer))
	}
}

// waitFor waits until a file exists.
func waitFor(t *testing.T, path string) {
	t.Helper()
	must.Await(t, path, func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}
