// Package interop tests the gateway with published clients and servers: the
// official SDKs, the official servers, the official conformance suite.
package interop

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

var (
	matrix = flag.Bool("matrix", false, "run every cell of the conformance matrix")
	update = flag.Bool("update", false, "rewrite docs/conformance.md from the results")
)

// cache is the folder into which deps.sh installed.
var cache string

func TestMain(m *testing.M) {
	if os.Getenv(driverVariable) != "" {
		os.Exit(drive())
	}
	flag.Parse()
	cmd := exec.Command("bash", "deps.sh")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		fmt.Fprintf(os.Stderr, "cannot install the published clients and servers (%v); run: make interop-deps\n", err)
		os.Exit(1)
	}
	cache = strings.TrimSpace(string(out))
	os.Exit(figures.Run(m))
}

// node returns the path of Node.js 22, which the conformance suite needs.
func node(t *testing.T) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	path := filepath.Join(cache, "npm", "node_modules", fmt.Sprintf("node-%s-%s", runtime.GOOS, arch), "bin", "node")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	path, err := exec.LookPath("node") // no package for this machine: use its own
	if err != nil {
		t.Fatalf("no Node.js: run make interop-deps, or install Node.js 22")
	}
	return path
}

// script returns the path of one of our scripts, next to the packages it
// imports.
func script(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(filepath.Join(cache, "npm"), "run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// npmServer returns the entry point of a published server.
func npmServer(name string) string {
	return filepath.Join(cache, "npm", "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
}

// uvx returns the runner of published Python servers.
func uvx() string { return filepath.Join(cache, "python", "bin", "uvx") }

// everything is the conformance fixture of the Go SDK.
var everything = sync.OnceValues(func() (string, error) { return buildFrom(goSDK, "conformance/everything-server") })

const goSDK = "github.com/modelcontextprotocol/go-sdk"

// buildFrom builds a program of a module that this project requires.
func buildFrom(module, folder string) (string, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", module, err)
	}
	source, version, _ := strings.Cut(strings.TrimSpace(string(dir)), " ")
	path := filepath.Join(cache, filepath.Base(module)+"-"+filepath.Base(folder)+"-"+version)
	if out, err := exec.Command("go", "build", "-C", source, "-o", path, "./"+folder).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", folder, err, out)
	}
	return path, nil
}

// everythingServer returns the path of the fixture.
func everythingServer(t *testing.T) string {
	t.Helper()
	path, err := everything()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// demoEntry returns the config entry of a demo server on stdio.
func demoEntry(t *testing.T, args ...string) string {
	t.Helper()
	return entry(mcptest.Build(t), append([]string{"-role", "demo"}, args...)...)
}

// perSession gives each client its own server.
func perSession(entry string) string {
	return strings.TrimSuffix(entry, "}") + `,"share":"session"}`
}

// entry returns the config entry of a stdio server.
func entry(command string, args ...string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = fmt.Sprintf("%q", a)
	}
	return fmt.Sprintf(`{"command":%q,"args":[%s]}`, command, strings.Join(quoted, ","))
}

// with adds a key to a config entry.
func with(entry, key, value string) string {
	return strings.TrimSuffix(entry, "}") + fmt.Sprintf(`,%q:%s}`, key, value)
}

// patient lets the servers of a config file take their time to start, as they do on
// a busy machine. Otherwise they start as fast as they do without it.
func patient(config string) string {
	return strings.TrimSuffix(config, "}") + `,"startWait":"5m","limits":{"handshake":"5m"}}`
}

// config returns a config file of named entries: name, entry, name, entry...
func config(pairs ...string) string {
	var members []string
	for i := 0; i < len(pairs); i += 2 {
		members = append(members, fmt.Sprintf("%q:%s", pairs[i], pairs[i+1]))
	}
	return `{"mcpServers":{` + strings.Join(members, ",") + `}}`
}
