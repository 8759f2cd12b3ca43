// Package browser tests the console of the real binary, with real servers and a
// real Chromium.
package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// chromium finds a Chromium, and installs one if that is allowed. The headless
// shell does the same work in half the time.
func chromium() (string, error) {
	find := func(names ...string) (string, bool) {
		for _, name := range names {
			if path, err := exec.LookPath(name); err == nil {
				return path, true
			}
		}
		return "", false
	}
	if path, ok := find(os.Getenv("CHROMIUM"), "chromium-headless-shell"); ok {
		return path, nil
	}
	const install = "apt-get install -y chromium-headless-shell fonts-noto-cjk"
	if os.Geteuid() == 0 {
		_ = exec.Command("sh", "-c", install+" || { apt-get update -qq; "+install+"; }").Run() // another Chromium works too
	}
	if path, ok := find("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"); ok {
		return path, nil
	}
	return "", fmt.Errorf("Chromium is needed; run: sudo %s", install)
}

// prepare runs a command of the setup.
func prepare(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// install installs the packages of this folder once per lock file.
func install(t *testing.T) {
	t.Helper()
	want, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	stamp := filepath.Join("node_modules", ".installed")
	if got, err := os.ReadFile(stamp); err == nil && bytes.Equal(got, want) {
		return
	}
	prepare(t, ".", "npm", "ci", "--no-audit", "--no-fund")
	if err := os.WriteFile(stamp, want, 0o600); err != nil {
		t.Fatal(err)
	}
}

// timed are the scripts that measure the speed of the page; they run alone.
var timed = []string{"budget.test.mjs"}

// A stage is what the scripts need: a configuration, and the environment.
type stage struct {
	config string
	env    []string
}

func prepared(t *testing.T) *stage {
	t.Helper()
	path, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	install(t)
	root, err := mcptest.Root()
	if err != nil {
		t.Fatal(err)
	}
	prepare(t, root, "make", "internal/web/dist/index.html.gz")
	corpus := filepath.Join(t.TempDir(), "corpus")
	prepare(t, root, "go", "build", "-o", corpus, "./test/browser/corpus")
	config, err := json.Marshal(map[string]any{"registries": []any{map[string]any{"name": "work", "url": registry(t, root), "names": []string{"*"}}}, "mcpServers": map[string]any{
		"demo":   map[string]any{"command": mcptest.Build(t), "args": []string{"-role", "demo"}, "env": map[string]string{"DEMO_KEY": "s3cret"}},
		"modern": map[string]any{"command": mcptest.Build(t), "args": []string{"-role", "demo", "-era", "modern"}},
		"corpus": map[string]any{"command": corpus},
		"broken": map[string]any{"command": filepath.Join(t.TempDir(), "no-such-server")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	certificate := t.TempDir()
	mcptest.NewCertificate(t, "127.0.0.1").Write(t, certificate)
	return &stage{string(config), []string{"CERTIFICATE=" + certificate, "CHROMIUM=" + path, "CORPUS_COMMAND=" + corpus,
		"GOCACHE=" + goEnv(t, "GOCACHE"), "GOMODCACHE=" + goEnv(t, "GOMODCACHE"), // some tests run Go programs that the page writes
		"BUNDLE=" + filepath.Join(root, "internal", "install", "testdata", "bundles", "hello.mcpb"), "PROMPTS_COMMAND=" + mcptest.Build(t) + " -role demo"}}
}

func TestBrowser(t *testing.T) {
	at := prepared(t)
	if some := strings.Fields(os.Getenv("BROWSER_TESTS")); len(some) > 0 {
		at.run(t, some...) // for writing tests
		return
	}
	files, err := filepath.Glob("*.test.mjs")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return slices.Contains(timed, file) })
	// The lanes take turns. pages has as many tests as all others of the second
	// lane; with it the lanes end at about the same time.
	const most = "pages.test.mjs"
	lanes := [2][]string{nil, {most}}
	for i, file := range files {
		if file != most {
			lanes[i%2] = append(lanes[i%2], file)
		}
	}
	for i, files := range lanes {
		t.Run(fmt.Sprint("lane", i+1), func(t *testing.T) {
			t.Parallel()
			at.run(t, files...)
		})
	}
}

// TestTimed runs the scripts that measure; make test runs it while nothing else
// runs.
func TestTimed(t *testing.T) {
	if os.Getenv("BROWSER_TESTS") == "" {
		prepared(t).run(t, timed...)
	}
}

// goEnv returns a setting of the go command for the user who runs the tests.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// code requests a one-time code from the running gateway, as a user does.
func code(t *testing.T, program mcptest.Program) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program.Path, "ui", "--print")
	cmd.Env = append(os.Environ(), program.Env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("mcp-all-in-one ui --print: %v\n%s", err, out)
	}
	u, err := url.Parse(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Fragment, "code=")
}

// browser starts a browser for several scripts, logs in, and returns its address.
func browser(t *testing.T, env []string) string {
	t.Helper()
	cmd := exec.Command("node", "browser.mjs") // it ends with its input
	cmd.Env = env
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait() // how it ended is of no interest
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the browser does not log in, or say where it listens: %v", err)
	}
	return strings.TrimSpace(address)
}

// run runs scripts one after the other with one gateway and one browser. Each
// script is a subtest, so that a script that failed can run again by itself.
func (s *stage) run(t *testing.T, files ...string) {
	t.Helper()
	file := mcptest.WriteConfig(t, s.config)
	program := mcptest.Product(t, "http", "--mcp-config", file, "--port", "0")
	base := mcptest.Start(t, program).Listening()
	env := slices.Concat(os.Environ(), program.Env, s.env, []string{"TMPDIR=" + temporary(t), "CONSOLE_URL=" + base, "CONSOLE_CODE=" + code(t, program), "CONSOLE_CONFIG=" + file,
		"CONSOLE_STATE=" + filepath.Join(t.TempDir(), "state.json"), "PROGRAM=" + program.Path})
	env = append(env, "BROWSER="+browser(t, env))
	for _, file := range files {
		t.Run(file, func(t *testing.T) { runScript(t, file, env) })
	}
}

// temporary returns a folder for the files that scripts leave behind. Its path is short
// because there are sockets in it.
func temporary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "web")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // a program that is about to end may still write to it
	return dir
}

// runScript runs one script, and makes a subtest of each of its tests.
func runScript(t *testing.T, file string, env []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=tap", file)
	cmd.Env, cmd.Stderr = env, os.Stderr
	out, err := cmd.Output()
	if n := report(t, out); err != nil && n == 0 {
		t.Fatalf("node %s: %v\n%s", file, err, out)
	}
}

// report turns TAP into subtests; it returns the number of failures.
func report(t *testing.T, tap []byte) (failed int) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(tap))
	lines.Buffer(nil, 16<<20)
	var name string
	var bad bool
	var detail []string
	flush := func() {
		if name == "" {
			return
		}
		t.Run(name, func(t *testing.T) {
			if bad {
				t.Error(strings.Join(detail, "\n"))
			}
			for _, line := range detail {
				if _, took, ok := strings.Cut(line, "duration_ms: "); ok {
					t.Logf("took %s ms", took)
				}
			}
		})
		name, detail = "", nil
	}
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		_, title, isTest := strings.Cut(line, " - ")
		isTest = isTest && (strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "not ok "))
		if !isTest {
			detail = append(detail, lines.Text())
			continue
		}
		flush()
		name, bad = title, strings.HasPrefix(line, "not ok ")
		if bad {
			failed++
		}
	}
	flush()
	return failed
}
