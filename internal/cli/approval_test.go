package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// product runs the binary with its own home directory, and returns its output
// and exit code.
func product(t *testing.T, home, dir string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(mcptest.BuildProduct(t), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG=en")
	data, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(data), cmd.ProcessState.ExitCode()
}

// output runs the product, which must succeed, and returns what it prints to stdout.
func output(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(mcptest.BuildProduct(t), args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// TestApprovalFollowsTheFile lets a client add a server through one name of the
// config file, and checks it through the other names.
func TestApprovalFollowsTheFile(t *testing.T) {
	t.Parallel()
	t.Run("door/2 through a symbolic link", func(t *testing.T) {
		dir := t.TempDir()
		target := filepath.Join(dir, "kept", "real.json")
		must.Folder(t, filepath.Dir(target))
		s := &settings{t: t, path: filepath.Join(dir, "mcp.json"), marker: filepath.Join(dir, "marker")}
		must.Write(t, target, `{"mcpServers":{}}`)
		must.OK(t, os.Symlink(target, s.path))
		s.RawStdio = mcptest.StartStdio(t, mcptest.Program{
			Path: mcptest.BuildProduct(t), Args: []string{"stdio", "--watch", "-c", s.path}, Env: []string{"HOME=" + dir, "XDG_STATE_HOME="},
		})
		s.Initialize("2025-06-18", `{}`)
		s.run("add-mcp-server", `{"name":"evil",`+s.touch()+`}`)
		if v := s.object("validate-mcp-config", `{}`); !strings.Contains(fmt.Sprint(v["warnings"]), "waits for approval") {
			t.Errorf("it does not wait: %v", v)
		}
		s.Ask(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
		s.Finish(20 * time.Second)
		s.neverRan(t)
		hard := filepath.Join(dir, "hard.json")
		must.OK(t, os.Link(target, hard))
		for _, path := range []string{s.path, target, hard, filepath.Join(dir, "kept", "..", "kept", "real.json")} {
			if out, code := product(t, dir, dir, "approve", "-c", path); code != 0 || !strings.Contains(out, "evil") {
				t.Errorf("through %s: %d %s", path, code, out)
			}
		}
		if out, code := product(t, dir, dir, "approve", "evil", "--yes", "-c", hard); code != 0 {
			t.Fatalf("approve: %d %s", code, out)
		}
		for _, path := range []string{s.path, target, hard} {
			if out, _ := product(t, dir, dir, "approve", "-c", path); !strings.Contains(out, "nothing waits") {
				t.Errorf("approved, and through %s: %s", path, out)
			}
		}
	})
}

// A user's server that a client replaces keeps running unchanged, also after a
// restart, until the user approves the new entry.
func TestReplacedServerRunsOn(t *testing.T) {
	t.Parallel()
	s := openSettings(t, `{"elicitation":{}}`)
	home := filepath.Dir(s.path)
	answers := func(when string) {
		t.Helper()
		s.next++
		if m := s.Ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"fine__echo","arguments":{"message":"as before"}}}`, s.next)); !strings.Contains(m.Raw, "as before") {
			t.Errorf("%s: %s", when, m.Raw)
		}
	}
	answers("at first")
	replace := `{"name":"fine","replace":true,` + s.touch() + `}`
	if q := s.attempt("add-mcp-server", replace, `{"action":"decline"}`); !strings.Contains(q, s.marker) {
		t.Errorf("the question: %s", q)
	}
	answers("after a no")
	if v := s.object("validate-mcp-config", `{}`); !strings.Contains(fmt.Sprint(v["warnings"]), `the old entry runs until then`) {
		t.Errorf("what waits is not said: %v", v)
	}
	// It still belongs to the user, so removing it needs a confirmation.
	if q := s.attempt("remove-mcp-server", `{"name":"fine"}`, `{"action":"decline"}`); q == "" || !strings.Contains(s.file(), `"fine"`) {
		t.Errorf("removed unasked: %s", s.file())
	}
	answers("after a removal that was declined")
	s.Finish(20 * time.Second)
	s.RawStdio = mcptest.StartStdio(t, mcptest.Program{
		Path: mcptest.BuildProduct(t), Args: []string{"stdio", "--watch", "-c", s.path}, Env: []string{"HOME=" + home, "XDG_STATE_HOME="},
	})
	s.Initialize("2025-06-18", `{}`)
	answers("after a restart")
	if _, err := os.Stat(s.marker); err == nil {
		t.Error("the new entry ran")
	}
	if out, code := product(t, home, "/", "approve", "-c", s.path); code != 0 || !strings.Contains(out, "its new entry; the old one still runs") {
		t.Errorf("what waits: %d %s", code, out)
	}
	// Repeating the proposal does not make another one.
	s.attempt("add-mcp-server", replace, `{"action":"decline"}`)
	answers("after the same proposal again")
	// The user switches off the running server.
	for _, command := range []string{"disable", "enable"} {
		if out, code := product(t, home, "/", command, "fine", "-c", s.path); code != 0 {
			t.Errorf("%s: %d %s", command, code, out)
		}
		out, _ := product(t, home, "/", "call", "fine", "echo", "message=as before", "--direct", "-c", s.path)
		if strings.Contains(out, "is disabled") != (command == "disable") {
			t.Errorf("after %s: %s", command, out)
		}
	}
	if out, code := product(t, home, "/", "approve", "fine", "--yes", "--no-sandbox", "-c", s.path); code != 0 || !strings.Contains(out, s.marker) {
		t.Errorf("approve: %d %s", code, out)
	}
	waitFor(t, s.marker)
	if record, err := os.ReadFile(s.path + ".pending.json"); err == nil && strings.Contains(string(record), "hunter2") {
		t.Errorf("the old entry is still kept: %s", record)
	}
}

// TestApprovalShowsEverything checks the text of the approval question.
func TestApprovalShowsEverything(t *testing.T) {
	t.Parallel()
	t.Run("door/5 nothing that runs is hidden in the question", func(t *testing.T) {
		s := openSettings(t, `{"elicitation":{}}`)
		const entry = `{"name":"x","command":"true","env":{"BASH_ENV":"/tmp/evil.sh"},"replace":true%s}`
		s.attempt("add-mcp-server", fmt.Sprintf(entry, ""), `{"action":"decline"}`)
		q := s.attempt("add-mcp-server", fmt.Sprintf(entry, `,"args":["again"]`), `{"action":"decline"}`)
		if !strings.Contains(q, "/tmp/evil.sh") || strings.Contains(q, "REDACTED") {
			t.Errorf("the question hides what will run: %s", q)
		}
		// A secret that the client has not seen is not shown to it, so the
		// entry cannot be approved there.
		q = s.attempt("add-mcp-server", `{"name":"fine","replace":true,`+s.touch()+`,"env":{"KEY":"[REDACTED]"}}`, `{"action":"accept","content":{"approve":true}}`)
		if strings.Contains(q, "REDACTED") || strings.Contains(q, "hunter2") {
			t.Errorf("the question: %s", q)
		}
		if v := s.object("validate-mcp-config", `{}`); !strings.Contains(fmt.Sprint(v["warnings"]), `"fine" waits for approval`) {
			t.Errorf("it does not wait: %v", v)
		}
		out, _ := product(t, filepath.Dir(s.path), "/", "approve", "fine", "-c", s.path)
		if !strings.Contains(out, "hunter2") || strings.Contains(out, "REDACTED") {
			t.Errorf("on the terminal: %s", out)
		}
		s.Finish(20 * time.Second)
		s.neverRan(t)
	})
	t.Run("door/5 what it takes away is in the question", func(t *testing.T) {
		s := settingsOf(t, `,"fs":{"command":"true","deny":["delete_*"],"tools":{"send":{"ask":true}}},"old":{"command":"true","pin":"hold"}`)
		s.Initialize("2025-06-18", `{"elicitation":{}}`)
		s.attempt("remove-mcp-server", `{"name":"old"}`, `{"action":"accept","content":{"approve":true}}`)
		q := s.attempt("add-mcp-server", `{"name":"fs","command":"true","replace":true}`, `{"action":"decline"}`)
		var message struct{ Params struct{ Message string } }
		must.Parse(t, q, &message)
		out, _ := product(t, filepath.Dir(s.path), "/", "approve", "fs", "-c", s.path)
		lines := []string{`- deny: ["delete_*"]`, `- tools: {"send":{"ask":"true"}}`, `- pin: "hold"`,
			"a client takes away what you had set for fs:", "a client removed the server old, and with it:"}
		for _, want := range lines {
			if !strings.Contains(out, want) {
				t.Errorf("on the terminal there is no %s in %s", want, out)
			}
		}
		for _, want := range append(lines, "客户端去掉了你为 fs 所做的设置：", "客户端移除了服务器 old，同时移除了：") {
			if !strings.Contains(message.Params.Message, want) {
				t.Errorf("there is no %s in the question %s", want, message.Params.Message)
			}
		}
	})
	t.Run("door/8 an entry swapped while the client asks is not approved", func(t *testing.T) {
		s := openSettings(t, `{"elicitation":{}}`)
		s.Send(`{"jsonrpc":"2.0","id":"swap","method":"tools/call","params":{"name":"mcp-all-in-one-add-mcp-server","arguments":{"name":"x","command":"true"}}}`)
		q := s.Request("elicitation/create")
		_, err := edit.Update(s.path, edit.WriteOptions{Pending: true, Load: config.LoadOptions{Home: filepath.Dir(s.path)}}, func(d *edit.Draft) error {
			return d.SetServer("", "x", []byte(`{`+s.touch()+`}`))
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"approve":true}}}`, q.ID))
		text, _ := resultText(t, s.Answer(`"swap"`))
		if !strings.Contains(text, "were not approved: default/x") || !strings.Contains(text, `"pending"`) {
			t.Errorf("got %s", text)
		}
		if v := s.object("validate-mcp-config", `{}`); !strings.Contains(fmt.Sprint(v["warnings"]), `"x" waits for approval`) {
			t.Errorf("it does not wait: %v", v)
		}
		s.Finish(20 * time.Second)
		s.neverRan(t)
	})
	t.Run("door/15 characters that do not show are numbers", func(t *testing.T) {
		s := openSettings(t, `{"elicitation":{}}`)
		entry := `{"name":"odd","command":"true","args":["a` + "\u202e\u200b\u2066\U000e0041\u009b" + `b"],"env":{"K` + "\u200d" + `":"v"}}`
		q := s.attempt("add-mcp-server", entry, `{"action":"decline"}`)
		out, _ := product(t, filepath.Dir(s.path), "/", "approve", "odd", "-c", s.path)
		var message struct{ Params struct{ Message string } }
		must.Parse(t, q, &message)
		for where, text := range map[string]string{"question": message.Params.Message, "terminal": out} {
			if strings.ContainsAny(text, "\u202e\u200b\u2066\U000e0041\u009b\u200d") {
				t.Errorf("%s has them: %q", where, text)
			}
			for _, number := range []string{`\u202e`, `\u200b`, `\u2066`, `\u009b`, `\udb40\udc41`, `K\u200d`} {
				if !strings.Contains(text, number) {
					t.Errorf("%s lacks %s: %s", where, number, text)
				}
			}
		}
	})
}

// A console is a gateway with an administrator key.
type console struct {
	t              *testing.T
	dir, path, url string
	key, plain     string
}

func openConsole(t *testing.T) *console {
	c := &console{t: t, dir: t.TempDir()}
	c.path = filepath.Join(c.dir, "mcp.json")
	c.write(`{"access":{"keys":"keys.json"},"mcpServers":{}}`)
	key := func(args ...string) string {
		out, code := product(t, c.dir, c.dir, append([]string{"key", "create", "-c", c.path}, args...)...)
		if code != 0 {
			t.Fatal(out)
		}
		for word := range strings.FieldsSeq(out) {
			if strings.HasPrefix(word, "mcp_") || len(word) > 30 {
				return word
			}
		}
		t.Fatalf("no key in %s", out)
		return ""
	}
	c.key, c.plain = key("boss", "--scope", "admin"), key("user")
	c.url = mcptest.Start(t, mcptest.Program{
		Path: mcptest.BuildProduct(t), Args: []string{"http", "-p", "0", "-c", c.path}, Env: []string{"HOME=" + c.dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="},
	}).Listening()
	return c
}

func (c *console) write(content string) {
	c.t.Helper()
	must.Write(c.t, c.path, content)
}

// propose lets a client of a second gateway write a server to the file.
func (c *console) propose(arguments string) {
	c.t.Helper()
	p := mcptest.StartStdio(c.t, mcptest.Program{
		Path: mcptest.BuildProduct(c.t), Args: []string{"stdio", "-c", c.path}, Env: []string{"HOME=" + c.dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="},
	})
	p.Initialize("2025-06-18", `{}`)
	if m := p.Ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp-all-in-one-add-mcp-server","arguments":` + arguments + `}}`); !strings.Contains(m.Raw, `\"success\": true`) && !strings.Contains(m.Raw, `\"success\":true`) {
		c.t.Fatalf("got %s", m.Raw)
	}
	p.Finish(20 * time.Second)
}

// call sends a request to the API.
func (c *console) call(key, method, path, body string) (int, string) {
	c.t.Helper()
	return ask(c.t, method, c.url+"/api/v1/"+path, body, "Authorization", "Bearer "+key, "X-MCP-AIO", "1")
}

// shown returns what the console shows of a pending server.
func (c *console) shown(key, name string) (entry, hash string) {
	c.t.Helper()
	status, body := c.call(key, "GET", "servers/default/"+name, "")
	var d struct{ Approval struct{ Entry, Hash string } }
	if status != 200 || json.Unmarshal([]byte(body), &d) != nil {
		c.t.Fatalf("%d %s", status, body)
	}
	return d.Approval.Entry, d.Approval.Hash
}

func TestConsoleApproval(t *testing.T) {
	t.Parallel()
	c := openConsole(t)
	marker := filepath.Join(c.dir, "marker")
	c.propose(`{"name":"x","command":"true","env":{"BASH_ENV":"literal"}}`)
	c.call(c.key, "POST", "reload", "")
	entry, hash := c.shown(c.key, "x")
	t.Run("door/5 the console shows the whole entry to who may approve it", func(t *testing.T) {
		if !strings.Contains(entry, `"BASH_ENV": "literal"`) || hash == "" {
			t.Errorf("shown: %q %q", entry, hash)
		}
		if _, body := c.call(c.plain, "GET", "servers/default/x", ""); strings.Contains(body, "literal") {
			t.Errorf("a key that may not approve sees it: %s", body)
		}
	})
	t.Run("door/8 an approval without what was shown counts for nothing", func(t *testing.T) {
		for _, body := range []string{"", `{}`, `{"hash":""}`, `{"hash":"other"}`} {
			if status, answer := c.call(c.key, "POST", "servers/default/x/approve", body); status != http.StatusConflict || !strings.Contains(answer, `"changed"`) || !strings.Contains(answer, hash) {
				t.Errorf("%s: %d %s", body, status, answer)
			}
		}
	})
	t.Run("door/8 an entry swapped after it was shown is not approved", func(t *testing.T) {
		c.propose(`{"name":"x","replace":true,"command":"touch","args":[` + quote(marker) + `],"cwd":` + quote(c.dir) + `}`)
		status, answer := c.call(c.key, "POST", "servers/default/x/approve", `{"hash":`+quote(hash)+`}`)
		var now struct{ Approval struct{ Entry, Hash string } }
		if json.Unmarshal([]byte(answer), &now) != nil || status != http.StatusConflict || !strings.Contains(now.Approval.Entry, marker) || now.Approval.Hash == hash {
			t.Fatalf("%d %s", status, answer)
		}
		if out, _ := product(t, c.dir, c.dir, "approve", "-c", c.path); !strings.Contains(out, "x") {
			t.Errorf("it was approved: %s", out)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Error("the marker was created")
		}
		if status, answer := c.call(c.key, "POST", "servers/default/x/approve", `{"hash":`+quote(now.Approval.Hash)+`}`); status != http.StatusNoContent {
			t.Fatalf("%d %s", status, answer)
		}
		waitFor(t, marker)
	})
}

// TestApprovalCoversPolicies changes each key of an approved project entry in
// turn.
func TestApprovalCoversPolicies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, ".mcp.json")
	put := func(more string) {
		t.Helper()
		must.Write(t, file, `{"mcpServers":{"p":{"command":"true"`+more+`}}}`)
	}
	waits := func() bool {
		out, _ := product(t, dir, dir, "approve", "--project")
		return !strings.Contains(out, "nothing waits")
	}
	for _, more := range []string{
		`,"deny":["x"]`, `,"allow":["x"]`, `,"tools":{"x":{"ask":true}}`, `,"tools":{"x":{"ask":false}}`, `,"pin":"hold"`, `,"protocol":"modern"`, `,"validate":"off"`,
		`,"share":"all"`, `,"timeout":"5s"`, `,"resources":{"a":{"enabled":false}}`, `,"unheard":1`, ``,
	} {
		t.Run("door/8 "+more, func(t *testing.T) {
			put(more)
			if !waits() {
				t.Fatal("the changed entry does not wait")
			}
			if out, code := product(t, dir, dir, "approve", "p", "--project", "--yes"); code != 0 {
				t.Fatal(out)
			}
			if waits() {
				t.Error("it waits although it was approved")
			}
		})
	}
}

// TestKnownPlaces starts the program without environment variables that
// identify the user, and with files that others may write.
func TestKnownPlaces(t *testing.T) {
	const content = `{"mcpServers":{"planted":{"command":"true"}}}`
	t.Run("door/12 without HOME the working directory is not the user's", func(t *testing.T) {
		for _, home := range []string{"", ".", "relative"} {
			dir := t.TempDir()
			for _, name := range []string{".mcp-all-in-one/mcp.json", ".config/mcp-all-in-one/config.json", "relative/.mcp-all-in-one/mcp.json"} {
				must.Write(t, filepath.Join(dir, name), content)
			}
			if out, code := product(t, home, dir, "config", "path"); code == 0 {
				t.Errorf("HOME=%q: found %s", home, out)
			}
			if out, _ := product(t, home, dir, "list"); strings.Contains(out, "planted") {
				t.Errorf("HOME=%q: %s", home, out)
			}
			if out, code := product(t, home, dir, "secret", "set", "x"); code == 0 || strings.Contains(out, "stored") {
				t.Errorf("a secret was stored: %s", out)
			}
		}
	})
	t.Run("door/12 a file that others may write is refused", func(t *testing.T) {
		for what, change := range map[string]func(path string) error{
			"others": func(path string) error { return os.Chmod(path, 0o606) },
			"group":  func(path string) error { return os.Chmod(path, 0o660) },
			"folder": func(path string) error { return os.Chmod(filepath.Dir(path), 0o777) },
		} {
			home := t.TempDir()
			path := must.Write(t, filepath.Join(home, ".mcp-all-in-one", "mcp.json"), content)
			if out, code := product(t, home, home, "list"); code != 0 || !strings.Contains(out, "planted") {
				t.Fatalf("%s: before: %d %s", what, code, out)
			}
			must.OK(t, change(path))
			if out, code := product(t, home, home, "list"); code == 0 || strings.Contains(out, "planted") || !strings.Contains(out, "chmod") {
				t.Errorf("%s: %d %s", what, code, out)
			}
			if out, code := product(t, home, home, "list", "--allow-insecure-config"); code != 0 || !strings.Contains(out, "planted") {
				t.Errorf("%s: overridden: %d %s", what, code, out)
			}
		}
	})
}
