package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/probe"
)

func fileURI(dir string) string {
	if dir = filepath.ToSlash(dir); runtime.GOOS == "windows" {
		dir = "/" + dir
	}
	return "file://" + dir
}

func rootsOf(dirs ...string) []config.Root {
	list := []config.Root{}
	for _, dir := range dirs {
		list = append(list, config.Root{URI: fileURI(dir)})
	}
	return list
}

// projectEntry returns a server that reports where it runs.
func projectEntry(t *testing.T, more string) string {
	return fmt.Sprintf(`"mcpServers":{"a":{"command":%q,"args":["-role","where"],"share":"project"%s}}`, mcptest.Build(t), more)
}

// A worker is a client that works on folders.
type worker struct {
	t *testing.T
	*probe.Session
}

func work(t *testing.T, url, key, protocol string, roots ...config.Root) worker {
	t.Helper()
	target := probe.Target{Name: "gateway", URL: url + "/s/a/mcp", Header: map[string][]string{}}
	if key != "" {
		target.Header.Set("Authorization", "Bearer "+key)
	}
	s, err := probe.Open(t.Context(), target, probe.Options{Protocol: protocol, Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(t.Context()) })
	return worker{t, s}
}

// at returns the process that the worker reaches, and its directory.
func (w worker) at() (pid, dir string) {
	w.t.Helper()
	x, err := w.Call(w.t.Context(), mcp.MethodToolsCall, []byte(`{"name":"where","arguments":{}}`), probe.CallOptions{Idle: 20 * time.Second, Limit: 20 * time.Second})
	if err != nil || x.Err != nil {
		w.t.Fatalf("%v, %+v", err, x)
	}
	return whereText(w.t, x.Result)
}

func whereText(t *testing.T, result []byte) (pid, dir string) {
	t.Helper()
	var answer struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &answer); err != nil || len(answer.Content) != 1 {
		t.Fatalf("%s: %v", result, err)
	}
	pid, dir, _ = strings.Cut(answer.Content[0].Text, " ")
	return pid, dir
}

// TestProjectsOverHTTP checks that clients that work on the same folder share a
// process, and that a process starts in the folder if its clients may choose
// it.
func TestProjectsOverHTTP(t *testing.T) {
	t.Parallel()
	home, x, y := must.RealFolder(t), must.RealFolder(t), must.RealFolder(t)
	path := must.Write(t, filepath.Join(home, "mcp.json"), fmt.Sprintf(`{"access":{"keys":%q},%s}`, filepath.Join(home, "keys.json"), projectEntry(t, "")))
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="}
	key := func(name string, scopes ...string) string {
		t.Helper()
		return output(t, env, append([]string{"key", "create", name, "-c", path}, scopes...)...)
	}
	admin, plain := key("admin", "--scope", "admin"), key("plain")
	gateway := mcptest.Start(t, mcptest.Program{Path: mcptest.BuildProduct(t), Args: []string{"http", "-p", "0", "-c", path}, Env: env, Dir: home})
	url := gateway.Listening()

	for _, protocol := range []string{"legacy", "modern"} {
		t.Run(protocol, func(t *testing.T) {
			one, other := work(t, url, admin, protocol, rootsOf(x)...), work(t, url, admin, protocol, rootsOf(y)...)
			first, dir := one.at()
			if dir != x {
				t.Errorf("started in %s, not in %s", dir, x)
			}
			second, dir := other.at()
			if second == first || dir != y {
				t.Errorf("the client of another folder: process %s in %s", second, dir)
			}
			if pid, _ := work(t, url, admin, protocol, rootsOf(x)...).at(); pid != first {
				t.Errorf("the next client of the folder has process %s, not %s", pid, first)
			}
			must.OK(t, one.SetRoots(t.Context(), rootsOf(y)))
			if pid, dir := one.at(); pid != second || dir != y {
				t.Errorf("after its roots changed: process %s in %s, not %s in %s", pid, dir, second, y)
			}
			pid, dir := work(t, url, plain, protocol, rootsOf(x)...).at()
			if pid == first || dir != home {
				t.Errorf("another key: process %s in %s, not another in %s", pid, dir, home)
			}
			if again, _ := work(t, url, plain, protocol, rootsOf(x)...).at(); again != pid {
				t.Errorf("the next client of that key has process %s, not %s", again, pid)
			}
			ordinary, dir := work(t, url, admin, protocol).at()
			if ordinary == first || ordinary == second || dir != home {
				t.Errorf("without roots: process %s in %s", ordinary, dir)
			}
			if pid, _ := work(t, url, plain, protocol, config.Root{URI: "https://example.com/x"}).at(); pid != ordinary {
				t.Errorf("with roots that are no folders: process %s, not %s", pid, ordinary)
			}
		})
	}
}

// TestProjectOnStdio lets the only client switch to another folder.
func TestProjectOnStdio(t *testing.T) {
	t.Parallel()
	x, y := must.RealFolder(t), must.RealFolder(t)
	open := func(t *testing.T, capabilities, more string) (call func(id int, roots ...string) (pid, dir string), client *mcptest.RawStdio) {
		program := mcptest.Product(t, "stdio", "--mcp-config", mcptest.WriteConfig(t, `{`+projectEntry(t, more)+`}`))
		program.Dir = x
		client = mcptest.StartStdio(t, program)
		if m := client.Initialize(mcp.LatestLegacy, capabilities); m.Error != nil {
			t.Fatalf("initialize: %+v", m.Error)
		}
		return func(id int, roots ...string) (pid, dir string) {
			t.Helper()
			client.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a__where","arguments":{}}}`, id))
			if roots != nil {
				list := must.JSON(t, map[string]any{"roots": rootsOf(roots...)})
				client.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, client.Request(mcp.MethodRootsList).ID, list))
			}
			return whereText(t, client.Answer(fmt.Sprint(id)).Result)
		}, client
	}
	t.Run("no roots", func(t *testing.T) {
		call, _ := open(t, `{}`, "")
		if _, dir := call(1); dir != x {
			t.Errorf("started in %s, not where the gateway was, %s", dir, x)
		}
	})
	t.Run("roots", func(t *testing.T) {
		call, client := open(t, `{"roots":{"listChanged":true}}`, "")
		changed := func() { client.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`) }
		first, dir := call(1, x)
		if dir != x {
			t.Errorf("started in %s, not in %s", dir, x)
		}
		if pid, _ := call(2); pid != first { // the client is not asked again
			t.Errorf("the next call has process %s, not %s", pid, first)
		}
		changed()
		second, dir := call(3, y)
		if second == first || dir != y {
			t.Errorf("after its roots changed: process %s in %s", second, dir)
		}
		changed()
		if pid, _ := call(4, x); pid != first {
			t.Errorf("back in the first folder: process %s, not %s", pid, first)
		}
		changed()
		if pid, _ := call(5, y); pid != second {
			t.Errorf("in the second folder again: process %s, not %s", pid, second)
		}
	})
	if runtime.GOOS != "linux" {
		return // other systems do not sandbox servers
	}
	t.Run("confined", func(t *testing.T) {
		call, _ := open(t, `{"roots":{}}`, `,"sandbox":"on"`)
		if _, dir := call(1, y); dir == y || filepath.Base(dir) != "home" {
			t.Errorf("a confined server started in %s", dir)
		}
	})
}

// TestProjectsWithoutAsking uses modern clients with requests during which they
// cannot be asked for their roots.
func TestProjectsWithoutAsking(t *testing.T) {
	t.Parallel()
	home, x, y := must.RealFolder(t), must.RealFolder(t), must.RealFolder(t)
	path := filepath.Join(home, "mcp.json")
	// Each process writes its input to the folder that it runs in.
	must.Write(t, path, fmt.Sprintf(`{"access":{"keys":%q},"mcpServers":{"a":{"command":"sh","args":["-c","tee -a heard | \"$0\" -role where",%q],"share":"project","protocol":"legacy"}}}`,
		filepath.Join(home, "keys.json"), mcptest.Build(t)))
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="}
	key := output(t, env, "key", "create", "admin", "--scope", "admin", "-c", path)
	url := mcptest.Start(t, mcptest.Program{Path: mcptest.BuildProduct(t), Args: []string{"http", "-p", "0", "-c", path}, Env: env, Dir: home}).Listening()
	heard := func(dir, what string) int {
		text, _ := os.ReadFile(filepath.Join(dir, "heard")) // the file may not exist yet
		return strings.Count(string(text), what)
	}
	one := work(t, url, key, "modern", rootsOf(x)...)
	if _, dir := one.at(); dir != x {
		t.Fatalf("started in %s, not in %s", dir, x)
	}
	// reaches checks which processes a completion and a subscription reach.
	reaches := func(dirs ...string) {
		t.Helper()
		type use struct{ method, dir string }
		before := map[use]int{}
		for _, dir := range dirs {
			for _, method := range []string{mcp.MethodComplete, mcp.MethodSubscribe} {
				before[use{method, dir}] = heard(dir, `"`+method+`"`)
			}
		}
		params := `{"ref":{"type":"ref/prompt","name":"summarize"},"argument":{"name":"style","value":""}}`
		if ex, err := one.Call(t.Context(), mcp.MethodComplete, []byte(params), probe.CallOptions{Idle: 20 * time.Second, Limit: 20 * time.Second}); err != nil || ex.Err != nil {
			t.Fatalf("%v, %+v", err, ex)
		}
		stop, err := one.Subscribe(t.Context(), "demo://clock")
		if err != nil {
			t.Fatal(err)
		}
		for u, n := range before {
			must.Await(t, u.method+" reaches "+u.dir, func() bool { return heard(u.dir, `"`+u.method+`"`) > n })
		}
		must.OK(t, stop(t.Context()))
		for _, dir := range dirs {
			must.Await(t, "the subscription ends in "+dir, func() bool {
				return heard(dir, `"`+mcp.MethodUnsubscribe+`"`) == heard(dir, `"`+mcp.MethodSubscribe+`"`)
			})
		}
	}
	reaches(x)
	// If another client of the key works on another folder, the folder is
	// ambiguous: both reach all.
	other := work(t, url, key, "modern", rootsOf(y)...)
	if _, dir := other.at(); dir != y {
		t.Fatalf("started in %s, not in %s", dir, y)
	}
	reaches(x, y)
}
