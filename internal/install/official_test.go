//go:build registry

package install

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestOfficialRegistry tests against the official registry's own server, built
// from its Go module, with its seed data. It needs a PostgreSQL database:
// REGISTRY_DB=postgres://... Run it with -tags registry.
func TestOfficialRegistry(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %v: %v", name, args, err)
		}
		return strings.TrimSpace(string(out))
	}
	run("go", "mod", "init", "x")
	run("go", "get", "github.com/modelcontextprotocol/registry@v1.8.7")
	source := run("go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/registry")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "registry"), "./cmd/registry")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l := must.Listen(t)
	address := l.Addr().String()
	l.Close()
	srv := exec.CommandContext(t.Context(), filepath.Join(dir, "registry"))
	srv.Env = append(os.Environ(), "MCP_REGISTRY_DATABASE_URL="+os.Getenv("REGISTRY_DB"), "MCP_REGISTRY_SEED_FROM="+filepath.Join(source, "data", "seed.json"),
		"MCP_REGISTRY_SERVER_ADDRESS="+address, "MCP_REGISTRY_JWT_PRIVATE_KEY="+strings.Repeat("01", 32), "MCP_REGISTRY_ENABLE_REGISTRY_VALIDATION=false")
	must.OK(t, srv.Start())
	t.Cleanup(func() { _ = srv.Process.Kill(); _ = srv.Wait() })
	for deadline := time.Now().Add(time.Minute); ; {
		resp, err := http.Get("http://" + address + "/v0.1/health")
		if err == nil {
			resp.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	r := opened(t, config.Registry{Name: "work", URL: "http://" + address, Names: all})
	for name, want := range map[string]string{"airtable-mcp-server": "1.7.3", "airtable-mcp-server@1.7.2": "1.7.2", "time-mcp-nuget": "1.0.8", "time-mcp-pypi": "1.0.6"} {
		t.Run("install/official/"+name, func(t *testing.T) {
			base, version, _ := strings.Cut("io.github.domdomegg/"+name, "@")
			rec, err := r.Find(t.Context(), base, version)
			if err != nil || rec.Server.Version != want {
				t.Fatalf("%+v, %v", rec, err)
			}
			if _, err := NewPlan(rec, PlanOptions{Can: func(string) bool { return true }}); err != nil {
				t.Error(err)
			}
		})
	}
	found, err := r.list[0].search(t.Context(), "mcp")
	if err != nil || len(found) != 3 {
		t.Errorf("install/official: %d found, %v", len(found), err)
	}
	if _, err := r.Find(t.Context(), "io.github.domdomegg/airtable-mcp-server", "9.9.9"); codeOf(err) != env.CodeNoVersion {
		t.Errorf("install/official: %v", err)
	}
	if _, err := r.Find(t.Context(), "io.github.domdomegg/airtable", ""); codeOf(err) != env.CodeUnknownName {
		t.Errorf("install/official: %v", err)
	}
}
