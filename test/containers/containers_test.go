// Package containers adds servers in images with a real engine and a real registry
// of images, and looks for containers that are left behind. It wants root, for an
// engine of its own.
package containers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// deadline is how long a step may take.
const deadline = 30 * time.Second

// A yard is an engine, a registry and a configuration.
type yard struct {
	dir, registry, config string
	env                   []string
}

func newYard(t *testing.T) *yard {
	dir := t.TempDir()
	port := mcptest.FreePort(t)
	y := &yard{
		dir: dir, registry: "127.0.0.1:" + port, config: filepath.Join(dir, "mcp.json"),
		env: append(os.Environ(), "HOME="+dir, "DOCKER_HOST=unix://"+dir+"/docker.sock", "DOCKER_BUILDKIT=0"),
	}
	y.write(t, "registry.yml", fmt.Sprintf("version: 0.1\nstorage: {filesystem: {rootdirectory: %s/images}}\nhttp: {addr: %q}\n", dir, y.registry))
	y.write(t, "mcp.json", fmt.Sprintf(`{"registries": [{"name": "images", "url": "http://%s"}], "mcpServers": {}}`, y.registry))
	y.start(t, "docker-registry", "serve", dir+"/registry.yml")
	y.start(t, "dockerd", "--host=unix://"+dir+"/docker.sock", "--data-root="+dir+"/data", "--exec-root="+dir+"/exec", "--pidfile="+dir+"/docker.pid",
		"--storage-driver=vfs", "--bridge=none", "--iptables=false", "--ip-forward=false")
	y.until(t, "the engine answers", func() bool { return y.command("docker", "version").Run() == nil })
	return y
}

func (y *yard) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(y.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (y *yard) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir = y.env, y.dir
	return cmd
}

// start runs a program until the end of the test.
func (y *yard) start(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := y.command(name, args...)
	log := new(strings.Builder)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s\n%s", name, log)
		}
	})
}

// run returns what a program prints, and fails the test if it fails.
func (y *yard) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := y.command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// until waits for a condition.
func (y *yard) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", deadline, what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// publish puts a Go program into an image of the registry.
func (y *yard) publish(t *testing.T, name, program string) {
	t.Helper()
	dir := filepath.Join(y.dir, name)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "server"), program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	y.write(t, name+"/Dockerfile", "FROM scratch\nCOPY server /server\nENTRYPOINT [\"/server\"]\n")
	image := y.registry + "/" + name + "-mcp:1.0"
	y.run(t, "docker", "build", "-q", "-t", image, dir)
	y.run(t, "docker", "push", "-q", image)
	y.run(t, "docker", "rmi", image)
}

func (y *yard) containers(t *testing.T) []string {
	t.Helper()
	return strings.Fields(y.run(t, "docker", "ps", "-aq"))
}

func TestContainers(t *testing.T) {
	y := newYard(t)
	product := mcptest.BuildProduct(t)
	y.publish(t, "everything", "github.com/modelcontextprotocol/go-sdk/examples/server/everything")
	y.publish(t, "stubborn", "./stubborn")
	none := func(t *testing.T) {
		t.Helper()
		y.until(t, "no container is left", func() bool { return len(y.containers(t)) == 0 })
	}
	for name, tools := range map[string]string{"everything": "10 tools", "stubborn": "1 tool"} {
		t.Run("install/container/"+name, func(t *testing.T) {
			out := y.run(t, product, "add", "docker:"+y.registry+"/"+name+"-mcp:1.0", "--env", "KEY=k", "--yes", "-c", y.config)
			if !strings.Contains(out, "started: "+name+", "+tools) {
				t.Error(out)
			}
			if left := y.containers(t); len(left) > 0 {
				t.Errorf("left behind: %s", left)
			}
		})
	}
	t.Run("install/container/called", func(t *testing.T) {
		if out := y.run(t, product, "call", "stubborn", "key", "-c", y.config); strings.TrimSpace(out) != "k" {
			t.Error(out)
		}
		if out := y.run(t, product, "call", "everything", "greet", "name=you", "-c", y.config); !strings.Contains(out, "you") {
			t.Error(out)
		}
		if left := y.containers(t); len(left) > 0 {
			t.Errorf("left behind: %s", left)
		}
	})
	for name, signal := range map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run("install/container/gateway "+name, func(t *testing.T) {
			gateway := y.command(product, "http", "-c", y.config, "--port", "0")
			if err := gateway.Start(); err != nil {
				t.Fatal(err)
			}
			y.until(t, "two containers run", func() bool { return len(y.containers(t)) == 2 })
			if err := gateway.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = gateway.Wait()
			none(t)
		})
	}
	t.Run("install/container/locked", func(t *testing.T) {
		if out := y.run(t, product, "lock", "-c", y.config); !strings.Contains(out, "locked: stubborn, image "+y.registry+"/stubborn-mcp@sha256:") {
			t.Error(out)
		}
		y.run(t, product, "lock", "verify", "--tools", "-c", y.config)
		none(t)
	})
}
