//go:build unix

// Package guide runs published servers and clients with and without the gateway
// between them, and writes docs/interop.md. peers.txt lists them. make guide
// runs it; it downloads all of them the first time.
package guide

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

var (
	update = flag.Bool("update", false, "rewrite docs/interop.md from the results; with -only, the rows of those peers")
	only   = flag.String("only", "", "run only peers whose kind and package contain this, as in \"client npm\"")
)

// patience is how long a peer may take, including its download, on a machine that
// does something else besides.
const patience = 15 * time.Minute

// maxCell is how much of the differences the page has.
const maxCell = 500

// A peer is a line of peers.txt.
type peer struct {
	kind     string // server or client
	registry string // npm, pypi or go
	packages []string
	args     []string
	env      []string
	at       string
	ignore   []string
	note     string
}

// name returns the name of the package.
func (p *peer) name() string    { name, _ := split(p.packages[0]); return name }
func (p *peer) version() string { _, version := split(p.packages[0]); return version }

func split(pkg string) (name, version string) {
	at := strings.LastIndex(pkg, "@")
	if at <= 0 {
		return pkg, ""
	}
	return pkg[:at], pkg[at+1:]
}

func (p *peer) transport() string {
	switch {
	case p.at == "":
		return "stdio"
	case strings.HasSuffix(p.at, "/sse"):
		return "SSE"
	}
	return "HTTP"
}

// readPeers reads peers.txt.
func readPeers(t *testing.T) (peers []*peer) {
	t.Helper()
	text, err := os.ReadFile("peers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, ";")
		f := strings.Fields(parts[0])
		p := &peer{kind: f[0], registry: f[1], packages: strings.Split(f[2], ","), args: f[3:]}
		for _, more := range parts[1:] {
			key, value, _ := strings.Cut(strings.TrimSpace(more), " ")
			switch key {
			case "env":
				p.env = append(p.env, value)
			case "at":
				p.at = value
			case "ignore":
				p.ignore = append(p.ignore, value)
			case "note":
				p.note = value
			default:
				t.Fatalf("peers.txt: %q is not env, at, ignore or note", more)
			}
		}
		if strings.Contains(strings.Join(f[:3], " "), *only) {
			peers = append(peers, p)
		}
	}
	return peers
}

// A place has what the peers need besides Node.js: uv, and a permanent folder.
type place struct{ cache, path string }

func prepare(t *testing.T) place {
	t.Helper()
	cmd := exec.Command("bash", "../interop/deps.sh")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	cache := strings.TrimSpace(string(out))
	return place{filepath.Join(cache, "guide"), filepath.Join(cache, "python", "bin") + string(os.PathListSeparator) + os.Getenv("PATH")}
}

// command returns the command that runs a peer.
func (l place) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	path := name
	for _, dir := range filepath.SplitList(l.path) {
		if full := filepath.Join(dir, name); !filepath.IsAbs(name) && isFile(full) {
			path = full
			break
		}
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "PATH="+l.path, "npm_config_loglevel=error")
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// A row is the row of a peer on the page.
type row struct {
	peer   *peer
	cells  []string
	failed bool // because of a fault of the gateway
}

// TestGuide runs all peers.
func TestGuide(t *testing.T) {
	l := prepare(t)
	var servers, clients []row
	peers := readPeers(t)
	for _, p := range peers {
		t.Run(p.kind+" "+p.name()+" "+p.transport(), func(t *testing.T) {
			var r row
			if p.kind == "server" {
				r = l.server(t, p)
				servers = append(servers, r)
			} else {
				r = l.client(t, p)
				clients = append(clients, r)
			}
			t.Log(strings.Join(r.cells, " | "))
			if r.failed {
				t.Errorf("%s %s: %v", p.name(), p.version(), r.cells)
			}
		})
	}
	if len(servers)+len(clients) < len(peers) {
		t.Fatal("docs/interop.md stays as it is: not all peers could be run")
	}
	if *update {
		const path = "../../docs/interop.md"
		text := page(servers, clients)
		if *only != "" {
			old, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if text, err = replaceRows(string(old), append(servers, clients...)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fill replaces the port and the folder in the words of a line.
func fill(words []string, port, dir string) (filled []string) {
	for _, w := range words {
		filled = append(filled, strings.NewReplacer("$PORT", port, "$DIR", dir).Replace(w))
	}
	return filled
}

// launch returns the command line of a server.
func (l place) launch(ctx context.Context, t *testing.T, p *peer, port, dir string) []string {
	runner := []string{"npx", "-y", p.packages[0]}
	switch p.registry {
	case "pypi":
		runner = []string{"uvx", p.packages[0]}
	case "go":
		runner = []string{l.goInstall(ctx, t, p)}
	}
	return append(runner, fill(p.args, port, dir)...)
}

// goInstall installs a program and returns its path.
func (l place) goInstall(ctx context.Context, t *testing.T, p *peer) string {
	t.Helper()
	bin := filepath.Join(l.cache, "go", strings.NewReplacer("/", "-", "@", "-").Replace(p.packages[0]))
	cmd := l.command(ctx, "go", "install", p.packages[0])
	cmd.Env = append(cmd.Env, "GOBIN="+bin, "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("installing %s: %v\n%s", p.packages[0], err, out)
	}
	return filepath.Join(bin, path.Base(p.name()))
}

// A comparison is the output of compare --json.
type comparison struct {
	Pairings []struct {
		Client, Server string
		Steps          int
		Differences    []struct {
			Step        string
			Differences []struct{ Path, A, B any }
		}
	}
}

// server compares the responses of a server with those through the gateway, for
// every pair of eras.
func (l place) server(t *testing.T, p *peer) row {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir, port := t.TempDir(), ""
	args := []string{"compare", "--direct", "--no-history", "--json"}
	for _, path := range p.ignore {
		args = append(args, "--ignore", path)
	}
	if p.at == "" {
		for _, e := range fill(p.env, "", dir) {
			args = append(args, "--env", e)
		}
		args = append(append(args, "--"), l.launch(ctx, t, p, "", dir)...)
	} else {
		port = mcptest.FreePort(t)
		url := fill([]string{p.at}, port, dir)[0]
		l.serve(ctx, t, p, port, dir)
		args = append(args, url)
	}
	var said strings.Builder
	cmd := l.command(ctx, mcptest.BuildProduct(t), args...)
	cmd.Env = append(cmd.Env, "HOME="+os.Getenv("HOME"), "MCP_AIO_LANG=en")
	cmd.Stderr = &said
	out, err := cmd.Output()
	r := row{peer: p}
	var c comparison
	if json.Unmarshal(out, &c) != nil || len(c.Pairings) == 0 {
		r.failed = true
		r.cells = []string{p.transport(), "", "", fmt.Sprintf("not compared: %v %s", err, lastLine(said.String()))}
		return r
	}
	var eras, different []string
	steps := 0
	for _, pair := range c.Pairings {
		if pair.Server != "auto" && !slices.Contains(eras, pair.Server) {
			eras = append(eras, pair.Server)
		}
		steps += pair.Steps
		for _, d := range pair.Differences {
			different = append(different, fmt.Sprintf("%s client, %s: %v", pair.Client, d.Step, d.Differences))
		}
	}
	r.failed = len(different) > 0
	shown := "none"
	if r.failed {
		shown = strings.Join(different, "; ")
		t.Log(shown)
		shown = strings.ToValidUTF8(shown[:min(len(shown), maxCell)], "")
	}
	r.cells = []string{p.transport(), strings.Join(eras, ", "), fmt.Sprint(steps), shown}
	return r
}

// serve runs a server that listens on a port.
func (l place) serve(ctx context.Context, t *testing.T, p *peer, port, dir string) {
	t.Helper()
	line := l.launch(ctx, t, p, port, dir)
	cmd := l.command(ctx, line[0], line[1:]...)
	cmd.Env = append(cmd.Env, fill(p.env, port, dir)...)
	mcptest.Detach(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() }) // with the processes that npx and uvx started
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s does not listen on %s", p.name(), port)
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
