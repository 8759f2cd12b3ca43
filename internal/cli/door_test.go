package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// A guarded gateway has keys of every kind, an audit trail and a server whose
// tools are denied or need approval.
type guarded struct {
	*mcptest.Process
	t      *testing.T
	url    string
	dir    string
	binary string
	keys   map[string]string
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := unguarded(t)
	content := fmt.Sprintf(`{"access":{"keys":%q},"audit":{"file":%q},"metrics":{"enabled":true},"mcpServers":{
		"one":{"command":%q,"args":["demo"],"deny":["add"],"tools":{"echo":{"ask":true}}},
		"two":{"command":%q,"args":["demo"]},
		"broken":{"command":%q}}}`,
		filepath.Join(g.dir, "keys.json"), filepath.Join(g.dir, "audit.jsonl"), g.binary, g.binary, filepath.Join(g.dir, "no-such-program"))
	g.write("mcp.json", content)
	for name, scopes := range map[string][]string{
		"boss": {"admin"}, "chief": {"admin"}, "ann": nil, "ben": nil, "bound": {"server:two"}, "reader": {"readonly"}, "leaver": {"admin"},
	} {
		args := []string{"key", "create", name}
		for _, s := range scopes {
			args = append(args, "--scope", s)
		}
		g.keys[name] = g.command(args...)
	}
	g.start()
	g.await("the servers", func() bool {
		_, body := g.api("boss", "GET", "servers", "")
		return strings.Count(body, `"state":"up"`) == 2 && strings.Contains(body, `"state":"down"`)
	})
	return g
}

// unguarded returns a gateway that has no keys yet and is not started.
func unguarded(t *testing.T) *guarded {
	t.Helper()
	return &guarded{t: t, dir: t.TempDir(), binary: mcptest.BuildProduct(t), keys: map[string]string{}}
}

func (g *guarded) start() {
	g.t.Helper()
	g.Process = mcptest.Start(g.t, mcptest.Program{Path: g.binary, Args: []string{"http", "-p", "0", "-c", filepath.Join(g.dir, "mcp.json")}, Env: g.env(), Dir: g.dir})
	g.url = g.Listening()
}

func (g *guarded) env() []string {
	return []string{"HOME=" + g.dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="}
}

func (g *guarded) write(name, content string) {
	g.t.Helper()
	must.Write(g.t, filepath.Join(g.dir, name), content)
}

func (g *guarded) command(args ...string) string {
	g.t.Helper()
	cmd := exec.Command(g.binary, append(args, "-c", filepath.Join(g.dir, "mcp.json"))...)
	cmd.Env, cmd.Dir = append(os.Environ(), g.env()...), g.dir
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("%v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// as returns the headers for a key.
func (g *guarded) as(key string) []string {
	header := []string{"X-MCP-AIO", "1"}
	if key != "" {
		header = append(header, "Authorization", "Bearer "+g.keys[key])
	}
	return header
}

// page requests a path with a key; "" means without a key.
func (g *guarded) page(key, path string) (int, string) {
	g.t.Helper()
	return ask(g.t, "GET", g.url+path, "", g.as(key)...)
}

func (g *guarded) api(key, method, path, body string) (int, string) {
	g.t.Helper()
	return ask(g.t, method, g.url+"/api/v1/"+path, body, g.as(key)...)
}

// want is like api, and checks the status.
func (g *guarded) want(t *testing.T, status int, key, method, path, body string) string {
	t.Helper()
	got, answer := g.api(key, method, path, body)
	if got != status {
		t.Errorf("%s: %s %s = %d %.300s, want %d", key, method, path, got, answer, status)
	}
	return answer
}

// owner returns a browser that logged in with a code from the terminal.
func (g *guarded) owner() func(method, path, body string) (int, string) {
	g.t.Helper()
	_, code, _ := strings.Cut(g.command("ui", "--print"), "#code=")
	return g.login(code)
}

func (g *guarded) login(code string) func(method, path, body string) (int, string) {
	g.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		g.t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	send := func(method, path, body string) (int, string) {
		g.t.Helper()
		resp, text := must.Answer(g.t, client, must.Request(g.t, method, g.url+"/api/v1/"+path, body, "X-MCP-AIO", "1"))
		return resp.StatusCode, text
	}
	if status, body := send("POST", "login", fmt.Sprintf(`{"code":%q}`, code)); status != 200 {
		g.t.Fatalf("login: %d %s", status, body)
	}
	return send
}

func (g *guarded) await(what string, f func() bool) {
	g.t.Helper()
	must.Await(g.t, what, f)
}

// open opens a bench and returns its id and the answer.
func (g *guarded) open(t *testing.T, key, target string) (id, answer string) {
	t.Helper()
	answer = g.want(t, 200, key, "POST", "bench", `{"target":`+target+`}`)
	var b struct{ ID string }
	if err := json.Unmarshal([]byte(answer), &b); err != nil || b.ID == "" {
		t.Fatalf("bench of %s: %s", key, answer)
	}
	return b.ID, answer
}

// begin starts a call on a bench and returns its run.
func (g *guarded) begin(t *testing.T, key, bench, tool, args string) string {
	t.Helper()
	body := fmt.Sprintf(`{"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	var run struct{ ID string }
	must.Parse(t, g.want(t, 202, key, "POST", "bench/"+bench+"/calls", body), &run)
	return run.ID
}

// result waits for the end of a run and returns it with its result.
func (g *guarded) result(key, run string) string {
	g.t.Helper()
	var got string
	g.await("the run "+run, func() bool {
		_, got = g.api(key, "GET", "runs/"+run, "")
		return !strings.Contains(got, `"status":"running"`)
	})
	_, body := g.api(key, "GET", "runs/"+run+"/body", "")
	return got + body
}

// question returns the id of the only question that a principal sees.
func (g *guarded) question(key string) string {
	g.t.Helper()
	var list []struct{ ID string }
	g.await("a question for "+key, func() bool {
		_, body := g.api(key, "GET", "inbox", "")
		return json.Unmarshal([]byte(body), &list) == nil && len(list) == 1
	})
	return list[0].ID
}

// follow reads the event stream of a key until f returns true.
func (g *guarded) follow(t *testing.T, key, topics string, f func(line string) bool) {
	t.Helper()
	resp, err := http.DefaultClient.Do(must.Request(t, "GET", g.url+"/api/v1/events?topics="+topics, "", g.as(key)...))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 10<<20)
	for lines.Scan() {
		if f(lines.Text()) {
			return
		}
	}
	t.Fatalf("the stream ended: %v", lines.Err())
}

// call calls a tool as an HTTP client.
func (g *guarded) call(key, tool, args string) string {
	g.t.Helper()
	_, body := ask(g.t, "POST", g.url+"/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args), g.as(key)...)
	return body
}
