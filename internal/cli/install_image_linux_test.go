package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// An image is added by its digest, and with the engine that works; its tag is
// looked up again by update, and mcp.lock has the digest.
func TestInstallImage(t *testing.T) {
	var digests sync.Map // by path
	first, second := strings.Repeat("a", 64), strings.Repeat("b", 64)
	digests.Store("/v2/o/x-mcp/manifests/1.0", first)
	digests.Store("/v2/o/x-mcp/manifests/2.0", second)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		digest, ok := digests.Load(r.URL.Path)
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Docker-Content-Digest", "sha256:"+digest.(string))
	}))
	t.Cleanup(registry.Close)
	host := strings.TrimPrefix(registry.URL, "http://")
	i := newInstaller(t)
	must.Write(t, i.path, fmt.Sprintf(`{"registries": [{"name": "images", "url": %q}], "mcpServers": {}}`, registry.URL))
	bin := t.TempDir()
	engine := func(name, script string) {
		t.Helper()
		must.Program(t, filepath.Join(bin, name), "#!/bin/sh\n"+script+"\n")
	}
	// A docker without its daemon, and a podman that runs the program of the image.
	engine("docker", "echo Client: 28.2; echo 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock.' >&2; exit 1")
	engine("podman", `[ "$1" = version ] && exit; exec `+i.program+` demo`)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	image := "docker:" + host + "/o/x-mcp:1.0"
	read := func() string {
		t.Helper()
		return must.Read(t, i.path)
	}
	t.Run("install/image/shown", func(t *testing.T) {
		stdout, stderr, code := i.run(t, "add", image, "--env", "KEY=${secret:x}", "--dry-run", "serve", "fast")
		for _, want := range []string{
			host + "/o/x-mcp:1.0   an image\n", "sha256   sha256:" + first,
			"engine   podman, because docker is installed but does not work: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.\n",
			"runs     podman run -i --rm -e KEY " + host + "/o/x-mcp@sha256:" + first + " serve fast\n",
			"gets     KEY=${secret:x}\n", "sandbox  the container", "name     x, schema default",
		} {
			if !strings.Contains(stderr, want) {
				t.Errorf("no %q in exit code %d\n%s%s", want, code, stdout, stderr)
			}
		}
		if strings.Contains(read(), "podman") {
			t.Error("something was written")
		}
	})
	t.Run("install/image/nobody says yes", func(t *testing.T) {
		if _, stderr, code := i.run(t, "add", image); code != 10 || strings.Contains(read(), "podman") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
	})
	t.Run("install/image/not there", func(t *testing.T) {
		if _, stderr, code := i.run(t, "add", "docker:"+host+"/o/x-mcp:3.0"); code == 0 || !strings.Contains(stderr, "the digest of "+host+"/o/x-mcp:3.0 cannot be had from its registry: it answered 404") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
	})
	if _, stderr, code := i.run(t, "add", image, "--yes", "--env", "KEY=1"); code != 0 || !strings.Contains(stderr, "started: x, ") {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	t.Run("install/image/locked", func(t *testing.T) {
		if stdout, stderr, code := i.run(t, "lock"); code != 0 || !strings.Contains(stdout+stderr, "locked: x, image "+host+"/o/x-mcp@sha256:"+first) {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		if stdout, stderr, code := i.run(t, "lock", "verify", "--tools"); code != 0 {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		file := filepath.Join(i.dir, "mcp.lock")
		data := must.Read(t, file)
		must.Write(t, file, strings.Replace(data, first, second, 1))
		if stdout, _, code := i.run(t, "lock", "verify"); code != 1 || !strings.Contains(stdout, "x: it runs the image "+host+"/o/x-mcp@sha256:aaa") || !strings.Contains(stdout, ", mcp.lock says "+host+"/o/x-mcp@sha256:bbb") {
			t.Errorf("exit code %d\n%s", code, stdout)
		}
	})
	t.Run("update/image", func(t *testing.T) {
		if _, stderr, code := i.run(t, "update", "x"); code != 0 || !strings.Contains(stderr, "nothing to update: x") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		digests.Store("/v2/o/x-mcp/manifests/1.0", strings.Repeat("c", 64)) // the tag was moved
		if stdout, stderr, code := i.run(t, "update"); code != 0 || !strings.Contains(stdout, "1.0 sha256:ccc") {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		if stdout, stderr, code := i.run(t, "update", "x", "--to", "2.0", "--yes"); code != 0 || !strings.Contains(read(), "x-mcp@sha256:"+second) || !strings.Contains(read(), host+"/o/x-mcp:2.0") || !strings.Contains(read(), `"KEY": "1"`) {
			t.Errorf("exit code %d\n%s%s\n%s", code, stdout, stderr, read())
		}
	})
}
