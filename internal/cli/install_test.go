package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// installer is the program with its own home directory and registry.
type installer struct {
	dir, chosen, path, program string

	env []string // more of the environment
}

func newInstaller(t *testing.T) *installer {
	t.Helper()
	files := filepath.Join("..", "install", "testdata", "registry")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "not-found"
		switch strings.TrimPrefix(r.URL.EscapedPath(), "/v0.1/servers") {
		case "":
			name = "search"
		case "/io.github.domdomegg%2Fairtable-mcp-server/versions/latest":
			name = "airtable-mcp-server.latest"
		case "/io.github.domdomegg%2Fairtable-mcp-server/versions":
			name = "airtable-mcp-server.versions"
		case "/io.github.domdomegg%2Ftime-mcp-nuget/versions/latest":
			name = "time-mcp-nuget.latest"
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		http.ServeFile(w, r, filepath.Join(files, name+".json"))
	}))
	t.Cleanup(srv.Close)
	i := &installer{dir: t.TempDir(), chosen: t.TempDir(), program: mcptest.BuildProduct(t)}
	i.path = filepath.Join(i.dir, "mcp.json")
	must.Write(t, i.path, fmt.Sprintf(`{"registries": [{"name": "work", "url": %q, "names": ["*"]}], "mcpServers": {}}`, srv.URL))
	return i
}

func (i *installer) environ() []string {
	return append(append(os.Environ(), "HOME="+i.dir, "XDG_STATE_HOME="+i.dir), i.env...)
}

// run runs a command line without a terminal.
func (i *installer) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), i.program, append(args, "-c", i.path)...)
	cmd.Env = append(i.environ(), "NO_COLOR=1", "MCP_AIO_LANG="+cmp.Or(os.Getenv("MCP_AIO_LANG"), "en"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the exit code is checked
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestInstall(t *testing.T) {
	t.Parallel()
	const name = "io.github.domdomegg/airtable-mcp-server"
	i := newInstaller(t)
	for id, tt := range map[string]struct {
		args []string
		want string
		code int
	}{
		"dry run":         {[]string{"add", name, "--dry-run"}, `"airtable-mcp-server@1.7.3"`, 0},
		"shown":           {[]string{"add", name, "--dry-run"}, "runs     npx -y airtable-mcp-server@1.7.3", 0},
		"owner":           {[]string{"add", name, "--dry-run"}, "(owner fits the name)", 0},
		"nobody to ask":   {[]string{"add", name}, "error[AIO2156]: no terminal to ask on; give --env AIRTABLE_API_KEY=...", 10},
		"nobody says yes": {[]string{"add", name, "--env", "AIRTABLE_API_KEY=x"}, "AIO2115", 10},
		"misspelt answer": {[]string{"add", name, "--env", "AIRTABLE_KEY=x"}, "error[AIO2159]: AIRTABLE_KEY is not asked for; the questions are: AIRTABLE_API_KEY", 2},
		"no version":      {[]string{"add", name + "@9.9.9"}, "error[AIO2151]: 9.9.9 is not published; available: 1.7.3, 1.7.2", 1},
		"kind":            {[]string{"add", name, "--package", "cargo"}, "--package is one of", 2},
		"flag":            {[]string{"add", "x", "--dry-run", "--", "ls"}, "--dry-run is for servers of a registry", 2},
		"short word":      {[]string{"search", "ai"}, "at least three characters", 2},
		"search":          {[]string{"search", "airtable"}, name + "\t1.7.3\tnpm,oci,mcpb\tactive", 0},
	} {
		t.Run("install/add/"+id, func(t *testing.T) {
			stdout, stderr, code := i.run(t, tt.args...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
				t.Errorf("exit code %d, want %d\n%s%s\nwant %q", code, tt.code, stdout, stderr, tt.want)
			}
		})
	}
	if data, err := os.ReadFile(i.path); err != nil || !strings.Contains(string(data), `"mcpServers": {}`) {
		t.Errorf("install/add: something was written: %s", data)
	}
}

// TestInstallWaysOut checks that every refusal is followed by a line that says
// what to do.
func TestInstallWaysOut(t *testing.T) {
	record := []byte(must.Read(t, filepath.Join("..", "install", "testdata", "registry", "airtable-mcp-server.latest.json")))
	steers := bytes.ReplaceAll(record, []byte("AIRTABLE_API_KEY"), []byte("NODE_OPTIONS"))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "airtable") {
			w.Write(steers)
			return
		}
		w.Write([]byte(`{"server": 1}`))
	}))
	t.Cleanup(srv.Close)
	i := newInstaller(t)
	must.Write(t, i.path, fmt.Appendf(nil, `{"registries": [{"name": "work", "url": %q, "names": ["*"]}], "mcpServers": {}}`, srv.URL))
	for code, word := range map[string]string{"AIO2152": "io.github.x/odd", "AIO2155": "io.github.domdomegg/airtable-mcp-server"} {
		for lang, fix := range map[string]string{"en": "  fix ", "zh": "  修正 "} {
			t.Run("install/way-out/"+code+"/"+lang, func(t *testing.T) {
				t.Setenv("MCP_AIO_LANG", lang)
				_, stderr, _ := i.run(t, "add", word, "--package", "npm")
				_, line, ok := strings.Cut(stderr, fix)
				if line, _, _ = strings.Cut(line, "\n"); !strings.Contains(stderr, code) || !ok || !strings.Contains(line, "mcp-all-in-one add NAME") {
					t.Errorf("%s", stderr)
				}
			})
		}
	}
}

// A bundle that the official tool packed is installed, started and called. Its
// secret is in the store, and the entry exists once.
func TestInstallBundle(t *testing.T) {
	t.Parallel()
	i := newInstaller(t)
	bundle, err := filepath.Abs(filepath.Join("..", "install", "testdata", "bundles", "hello-signed.mcpb"))
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := i.run(t, "add", bundle, "--yes", "--arg", "folders="+i.chosen, "--env", "key=s3cret")
	if code != 0 || !strings.Contains(stderr, "started: hello, 1 tool") || !strings.Contains(stderr, "with a certificate of its own making") {
		t.Fatalf("install/bundle: exit code %d\n%s%s", code, stdout, stderr)
	}
	data, err := os.ReadFile(i.path)
	if err != nil || bytes.Contains(data, []byte("s3cret")) || !bytes.Contains(data, []byte("${secret:hello.key}")) {
		t.Errorf("install/bundle: %s", data)
	}
	if stdout, stderr, code = i.run(t, "call", "hello", "hello"); code != 0 || !strings.Contains(stdout, `"key":"s3cret"`) {
		t.Errorf("install/bundle: exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, stderr, code = i.run(t, "add", bundle, "--yes", "--arg", "folders="+i.chosen, "--env", "key=x"); code != 2 || !strings.Contains(stderr, "hello exists; --name OTHER, or --replace") {
		t.Errorf("install/bundle: exit code %d\n%s", code, stderr)
	}
	// With a lock, only locked servers start.
	if _, stderr, code = i.run(t, "lock", "verify"); code != 1 {
		t.Errorf("install/lock: exit code %d\n%s", code, stderr)
	}
	if _, stderr, code = i.run(t, "lock"); code != 0 || !strings.Contains(stderr, "locked: hello, bundle ") {
		t.Errorf("install/lock: exit code %d\n%s", code, stderr)
	}
	if _, stderr, code = i.run(t, "lock", "verify"); code != 0 {
		t.Errorf("install/lock: exit code %d\n%s", code, stderr)
	}
	files, err := filepath.Glob(filepath.Join(i.dir, "mcp-all-in-one", "bundles", "*", "manifest.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	must.OK(t, errors.Join(os.Chmod(files[0], 0o600), os.WriteFile(files[0], []byte("{}"), 0o600)))
	if stdout, _, code = i.run(t, "lock", "verify"); code != 1 || !strings.Contains(stdout, "hello: the files of its bundle in "+filepath.Dir(files[0])+" have the hash ") {
		t.Errorf("install/lock: exit code %d\n%s", code, stdout)
	}
	if _, stderr, code = i.run(t, "remove", "hello"); code != 0 {
		t.Errorf("install/lock: exit code %d\n%s", code, stderr)
	}
	if stdout, _, code = i.run(t, "lock", "verify"); code != 1 || !strings.Contains(stdout, "hello is in mcp.lock but not in the config file") {
		t.Errorf("install/lock: exit code %d\n%s", code, stdout)
	}
}

// Who signed a bundle is shown before the question, and how far that can be
// believed.
func TestInstallSigned(t *testing.T) {
	i := newInstaller(t)
	bundles, err := filepath.Abs(filepath.Join("..", "install", "testdata", "bundles"))
	if err != nil {
		t.Fatal(err)
	}
	signed := func(name string) string {
		t.Helper()
		stdout, stderr, code := i.run(t, "add", filepath.Join(bundles, name), "--dry-run", "--arg", "folders="+i.chosen, "--env", "key=x")
		if code != 0 {
			t.Fatal(stderr)
		}
		return stdout + stderr
	}
	for name, want := range map[string]string{
		"hello.mcpb":        "  signed   no\n",
		"hello-signed.mcpb": "  signed   by CN=MCPB Self-Signed Certificate,O=MCPB Extensions,C=US, with a certificate of its own making: anybody can write that name into one (sha256 ",
		"hello-chain.mcpb":  "  signed   by CN=Hello Publisher,O=Hello Ltd, with a certificate that this machine does not trust: ",
	} {
		if text := signed(name); !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if runtime.GOOS == "linux" { // other systems have no variable for this
		t.Setenv("SSL_CERT_FILE", filepath.Join(bundles, "hello-chain-root.pem"))
		if text := signed("hello-chain.mcpb"); !strings.Contains(text, "  signed   by CN=Hello Publisher,O=Hello Ltd; this machine trusts CN=Example Issuer,O=Example Roots\n") {
			t.Error(text)
		}
	}
}

// A record may lead to this machine only if its registry is there.
func TestAddRemoteOfThisMachine(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v0.1/servers/"), "/versions/")
		address := map[string]string{"com.example/near": "http://" + r.Host + "/mcp", "com.example/else": "http://127.0.0.1:1/mcp", "com.example/odd": "https://0x7f000001/mcp"}[name]
		fmt.Fprintf(w, `{"server": {"name": %q, "description": "d", "version": "1.0.0", "remotes": [{"type": "streamable-http", "url": %q}]}, "_meta": {}}`, name, address)
	}))
	t.Cleanup(srv.Close)
	i := newInstaller(t)
	must.Write(t, i.path, fmt.Appendf(nil, `{"registries": [{"name": "work", "url": %q, "names": ["*"]}], "mcpServers": {}}`, srv.URL))
	for name, want := range map[string]string{
		"com.example/else": "http://127.0.0.1:1/mcp: refused: 127.0.0.1 is not a public address; a server on this machine or in a private network is added by its URL: add NAME URL",
		"com.example/odd":  "https://0x7f000001/mcp: refused: the address form 0x7f000001; ",
	} {
		t.Run("install/remote "+name, func(t *testing.T) {
			if stdout, stderr, code := i.run(t, "add", name, "--dry-run", "--yes"); code == 0 || !strings.Contains(stderr, want) {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	t.Run("install/remote com.example/near", func(t *testing.T) {
		stdout, stderr, code := i.run(t, "add", "com.example/near", "--dry-run", "--yes")
		if code != 0 || !strings.Contains(stdout+stderr, srv.URL+"/mcp") || strings.Contains(stdout+stderr, "elsewhere") {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	})
}
