//go:build unix

package guide

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// before is the server that the clients are tested with.
const before = "@modelcontextprotocol/server-everything@2026.8.31"

// A report is the output of a client: the tools that it lists, and the result
// of the tool that it called.
type report struct {
	Tools []string
	Text  string
}

// client runs a client with a server, directly and through the gateway, over
// stdio and HTTP.
func (l place) client(t *testing.T, p *peer) row {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	run := l.install(ctx, t, p)
	config := fmt.Sprintf(`{"startWait":"1m","mcpServers":{"everything":{"command":"npx","args":["-y",%q],"env":{"PATH":%q}}}}`, before, l.path)
	port := mcptest.FreePort(t)
	l.serve(ctx, t, &peer{registry: "npm", packages: []string{before}, args: []string{"streamableHttp"}, env: []string{"PORT=" + port}}, port, "")
	g := mcptest.Gateway(t, config)
	g.Says("upstream connected")
	r := row{peer: p}
	for _, way := range []struct {
		direct, through []string
	}{
		{[]string{"stdio", "npx", "-y", before}, []string{"stdio", mcptest.BuildProduct(t), "stdio", "--mcp-config", mcptest.WriteConfig(t, config)}},
		{[]string{"http", "http://127.0.0.1:" + port + "/mcp"}, []string{"http", g.URL + "/mcp"}},
	} {
		direct, err := run(ctx, append([]string{"echo"}, way.direct...)...)
		through, again := run(ctx, append([]string{"everything__echo"}, way.through...)...)
		cell, ours := verdict(direct, err, through, again)
		r.cells = append(r.cells, cell)
		r.failed = r.failed || ours
	}
	return r
}

// noSuchWay is the exit code of a script whose client lacks the transport.
const noSuchWay = 3

// verdict summarizes the results of a client, directly and through the gateway.
// ours is set if the gateway is at fault.
func verdict(direct report, err error, through report, again error) (cell string, ours bool) {
	exit, _ := err.(*exec.ExitError)
	switch {
	case exit != nil && exit.ExitCode() == noSuchWay:
		return "–", false
	case err != nil && again != nil:
		return fmt.Sprintf("fails without the gateway too: %v", again), false
	case again != nil:
		return again.Error(), true
	case err != nil:
		return fmt.Sprintf("works; directly: %v", err), false
	case through.Text != direct.Text:
		return fmt.Sprintf("answers %q instead of %q", through.Text, direct.Text), true
	}
	for _, name := range direct.Tools {
		if !slices.Contains(through.Tools, "everything__"+name) {
			return fmt.Sprintf("does not list %s, but %v", name, through.Tools), true
		}
	}
	return fmt.Sprintf("works, %d tools", len(direct.Tools)), false
}

// install returns a function that runs the script of a client.
func (l place) install(ctx context.Context, t *testing.T, p *peer) func(ctx context.Context, args ...string) (report, error) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("clients", p.args[0]))
	if err != nil {
		t.Fatal(err)
	}
	line := []string{"uv", "run", "--quiet", "--no-project"}
	if p.registry == "go" {
		line = []string{l.goBuild(ctx, t, p, script)}
	} else if p.registry == "pypi" {
		for _, pkg := range p.packages {
			name, version := split(pkg)
			if version != "" {
				name += "==" + version
			}
			line = append(line, "--with", name)
		}
		line = append(line, "python", script)
	} else {
		dir := filepath.Join(l.cache, strings.NewReplacer("/", "-", "@", "").Replace(strings.Join(p.packages, "-")))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := l.command(ctx, "npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund"}, p.packages...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(script)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, p.args[0]), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		line = []string{"node", filepath.Join(dir, p.args[0])}
	}
	return func(ctx context.Context, args ...string) (r report, err error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		var said strings.Builder
		cmd := l.command(ctx, line[0], append(line[1:], args...)...)
		cmd.Stderr = &said
		out, err := cmd.Output()
		if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == noSuchWay {
			return r, err
		}
		if err != nil {
			return r, fmt.Errorf("%w: %s", err, lastLine(said.String()))
		}
		return r, json.Unmarshal([]byte(lastLine(string(out))), &r)
	}
}

// goBuild builds the script of a Go client with the module that this project
// requires, which must have the version of the line.
func (l place) goBuild(ctx context.Context, t *testing.T, p *peer, script string) string {
	t.Helper()
	version, err := l.command(ctx, "go", "list", "-m", "-f", "{{.Version}}", p.name()).Output()
	if got := strings.TrimSpace(string(version)); err != nil || got != p.version() {
		t.Fatalf("go.mod has %s %s, %v; peers.txt has %s", p.name(), got, err, p.version())
	}
	path := filepath.Join(t.TempDir(), "client")
	if out, err := l.command(ctx, "go", "build", "-o", path, script).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}
