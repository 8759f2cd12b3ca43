package release

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// cleanRoot returns a root folder that contains only a shell.
func cleanRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal("busybox-static is needed for a clean root: ", err)
	}
	for _, dir := range []string{"bin", "etc", "tmp", "dev", "proc", "usr/bin", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/rpm"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	must(t, nil, "cp", busybox, filepath.Join(root, "bin", "busybox"))
	must(t, nil, "chroot", root, "/bin/busybox", "--install", "-s", "/bin")
	for _, file := range []string{"var/lib/dpkg/status", "var/lib/dpkg/available"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(t, nil, "mknod", "-m", "666", filepath.Join(root, "dev/urandom"), "c", "1", "9")
	must(t, nil, "mknod", "-m", "666", filepath.Join(root, "dev/null"), "c", "1", "3")
	must(t, nil, "mount", "--bind", "/proc", filepath.Join(root, "proc"))
	t.Cleanup(func() {
		if out, err := exec.Command("umount", filepath.Join(root, "proc")).CombinedOutput(); err != nil {
			t.Errorf("umount: %v\n%s", err, out)
		}
	})
	return root
}

// TestLinuxPackages installs, upgrades and removes the packages with the
// package managers themselves. Debian has no apk, so that package is unpacked
// and its scripts are run.
func TestLinuxPackages(t *testing.T) {
	pkg := func(format string) string { return artefact(t, "linux/"+name+"-"+version+"-linux-amd64."+format) }
	config := "etc/" + name + "/config.json"
	t.Run("get/deb", func(t *testing.T) {
		root := cleanRoot(t)
		// busybox has its own commands for those that dpkg needs.
		dpkg := func(args ...string) {
			must(t, nil, "dpkg", append([]string{"--root=" + root, "--force-architecture", "--log=/dev/null"}, args...)...)
		}
		dpkg("-i", pkg("deb"))
		key := used(t, root)
		change(t, filepath.Join(root, config))
		dpkg("-i", pkg("deb"))
		kept(t, root, config, key)
		dpkg("-r", name)
		gone(t, root, "usr/bin/"+name, "usr/bin/mcpx", "usr/lib/systemd/system/"+name+".service")
		kept(t, root, config, key)
		dpkg("-P", name)
		gone(t, root, config, "etc/"+name+"/key")
	})
	t.Run("get/rpm", func(t *testing.T) {
		root := cleanRoot(t)
		rpm := func(args ...string) { must(t, nil, "rpm", append([]string{"--root=" + root, "--nodeps"}, args...)...) }
		rpm("-i", pkg("rpm"))
		key := used(t, root)
		change(t, filepath.Join(root, config))
		rpm("-U", "--force", pkg("rpm"))
		kept(t, root, config, key)
		rpm("-e", name)
		gone(t, root, "usr/bin/"+name, "usr/bin/mcpx", "etc/"+name+"/key")
		if _, err := os.Stat(filepath.Join(root, config+".rpmsave")); err != nil {
			t.Error(err)
		}
	})
	t.Run("get/apk", func(t *testing.T) {
		root := cleanRoot(t)
		must(t, nil, "tar", "-xzf", pkg("apk"), "-C", root, "--warning=no-unknown-keyword")
		must(t, nil, "chroot", root, "/bin/sh", "/.post-install", version)
		used(t, root)
		must(t, nil, "chroot", root, "/bin/sh", "/.pre-deinstall", version)
		must(t, nil, "chroot", root, "/bin/sh", "/.post-deinstall", version)
	})
}

// used makes a first call in a root, starts the gateway with the packaged
// configuration, uses the key of the machine, and returns it.
func used(t *testing.T, root string) string {
	t.Helper()
	firstCall(t, []string{"HOME=/tmp"}, "/usr/bin/"+name, "chroot", root, "/usr/bin/"+name)
	key, err := os.ReadFile(filepath.Join(root, "etc", name, "key"))
	if err != nil || len(key) != 64 {
		t.Fatalf("the key %q: %v", key, err)
	}
	url := mcptest.Start(t, mcptest.Program{Path: "chroot", Args: []string{root, "/usr/bin/" + name, "http", "--config", "/etc/" + name + "/config.json", "--port", "0"},
		Env: []string{"HOME=/tmp", "XDG_STATE_HOME=/tmp", "XDG_RUNTIME_DIR=/tmp"}}).Listening()
	knows(t, url, string(key))
	return string(key)
}

// knows makes requests to a gateway with and without a key.
func knows(t *testing.T, url, key string) {
	t.Helper()
	for shown, want := range map[string]int{"": http.StatusUnauthorized, "Bearer " + key: http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		if shown != "" {
			req.Header.Set("Authorization", shown)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("with %q: %s %s", shown, resp.Status, body)
		}
	}
}

const changed = "// changed by the administrator\n"

func change(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte(changed), text...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func kept(t *testing.T, root, config, key string) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(root, config)); err != nil || !strings.HasPrefix(string(text), changed) {
		t.Errorf("the changed configuration is %q: %v", text, err)
	}
	if now, err := os.ReadFile(filepath.Join(root, "etc", name, "key")); err != nil || string(now) != key {
		t.Errorf("the key is %q: %v", now, err)
	}
}

func gone(t *testing.T, root string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(filepath.Join(root, path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}

// TestUnits lets systemd check the units.
func TestUnits(t *testing.T) {
	root := t.TempDir()
	must(t, nil, "dpkg", "-x", artefact(t, "linux/"+name+"-"+version+"-linux-amd64.deb"), root)
	for _, tt := range []struct{ name, kind, dropIn string }{
		{"system", "system", ""}, {"user", "user", ""}, {"in a cluster", "system", "deploy/cluster/systemd.conf"},
	} {
		t.Run("get/unit "+tt.name, func(t *testing.T) {
			unit := filepath.Join(t.TempDir(), name+".service")
			text, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd", tt.kind, name+".service"))
			if err != nil {
				t.Fatal(err)
			}
			// The program is in the folder of the test.
			if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), "/usr/bin/", root+"/usr/bin/")), 0o644); err != nil {
				t.Fatal(err)
			}
			if tt.dropIn != "" {
				must(t, nil, "mkdir", unit+".d")
				must(t, nil, "cp", artefact(t, tt.dropIn), unit+".d/cluster.conf")
			}
			env := []string{"XDG_RUNTIME_DIR=" + t.TempDir(), "SYSTEMD_UNIT_PATH=" + filepath.Dir(unit) + ":"}
			if out := must(t, env, "systemd-analyze", "--"+tt.kind, "--man=no", "verify", unit); strings.Contains(out, name+".service") {
				t.Errorf("systemd says\n%s", out)
			}
		})
	}
}

// TestImage runs the image with buildah, as its own user and with the key from
// the environment, and checks its health.
func TestImage(t *testing.T) {
	t.Run("get/image", func(t *testing.T) {
		dir := t.TempDir()
		env := []string{"STORAGE_DRIVER=vfs"}
		buildah := func(args ...string) []string {
			return append([]string{"--root", dir + "/root", "--runroot", dir + "/run"}, args...)
		}
		container := strings.Fields(must(t, env, "buildah", buildah("from", "--quiet", "oci-archive:"+artefact(t, "image/"+name+"-"+version+".oci.tar"))...))
		id := container[len(container)-1]
		t.Cleanup(func() {
			rm := exec.Command("buildah", buildah("rm", id)...)
			rm.Env = append(os.Environ(), env...)
			if out, err := rm.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
		var image struct {
			OCIv1 struct {
				Architecture string
				Config       struct {
					User         string
					ExposedPorts map[string]any
					Entrypoint   []string
				}
			}
			Docker struct {
				Config struct{ Healthcheck struct{ Test []string } }
			}
		}
		out := must(t, env, "buildah", buildah("inspect", id)...)
		if err := json.Unmarshal([]byte(out), &image); err != nil {
			t.Fatal(err)
		}
		c := image.OCIv1.Config
		if c.User != "65532:65532" || c.ExposedPorts["3095/tcp"] == nil || len(image.Docker.Config.Healthcheck.Test) != 4 {
			t.Errorf("the image is %+v", image)
		}
		exe := "/usr/bin/" + name
		inside := func(args ...string) []string {
			return buildah(append([]string{"run", "--isolation", "chroot", "--env", "MCP_AIO_KEY=" + strings.Repeat("k", 32), id, "--"}, args...)...)
		}
		firstCall(t, env, exe, append([]string{"buildah"}, inside(exe)...)...)
		url := mcptest.Start(t, mcptest.Program{Path: "buildah", Args: inside(exe, "http", "--host", "0.0.0.0", "--port", "0"), Env: env}).Listening()
		knows(t, url, strings.Repeat("k", 32))
		must(t, env, "buildah", inside(image.Docker.Config.Healthcheck.Test[1:]...)...)
	})
}

// TestImageWithRunners builds the image with Node and uv as the release says, on
// images that are made here from the Node and uv of this machine.
func TestImageWithRunners(t *testing.T) {
	t.Run("get/image with runners", func(t *testing.T) {
		dir, env := t.TempDir(), []string{"STORAGE_DRIVER=vfs", "BUILDAH_ISOLATION=chroot"}
		buildah := func(args ...string) string {
			return strings.TrimSpace(must(t, env, "buildah", append([]string{"--root", dir + "/root", "--runroot", dir + "/run"}, args...)...))
		}
		t.Cleanup(func() {
			rm := exec.Command("buildah", "--root", dir+"/root", "--runroot", dir+"/run", "rm", "--all")
			rm.Env = append(os.Environ(), env...)
			if out, err := rm.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
		buildah("pull", "--quiet", "oci-archive:"+artefact(t, "image/"+name+"-"+version+".oci.tar"))
		program := strings.Fields(buildah("images", "--quiet"))[0]
		base := func(as, files string) {
			root := filepath.Join(dir, as)
			must(t, []string{"ROOT=" + root, "UV=" + tool(t, "uv")}, "bash", "-euc", `mkdir -p $ROOT/tmp $ROOT/etc && chmod 1777 $ROOT/tmp && `+files)
			id := buildah("from", "--quiet", "scratch")
			buildah("copy", "--quiet", id, root, "/")
			buildah("commit", "--quiet", id, "localhost/"+as)
			buildah("rm", id)
		}
		base("uv", "cp "+tool(t, "uv")+" "+tool(t, "uvx")+" $ROOT")
		base("node", `node=$(readlink -f $(command -v node)); npm=$(dirname $(dirname $(readlink -f $(command -v npx))))
mkdir -p $ROOT/usr/bin $ROOT/bin $ROOT/usr/lib/node_modules
cp $node $ROOT/usr/bin/node; cp -r $npm $ROOT/usr/lib/node_modules/npm; ln -s ../lib/node_modules/npm/bin/npx-cli.js $ROOT/usr/bin/npx
cp $(command -v busybox) $ROOT/bin/busybox; ln -s busybox $ROOT/bin/sh; ln -s /bin/busybox $ROOT/usr/bin/env
for lib in $(ldd $node $UV | grep -o '/lib[^ )]*' | sort -u); do mkdir -p $ROOT$(dirname $lib); cp -L $lib $ROOT$lib; done`)
		buildah("build", "--quiet", "--build-arg", "IMAGE="+program, "--build-arg", "NODE=localhost/node", "--build-arg", "UV=localhost/uv",
			"--format", "docker", "--tag", "localhost/runners", "--file", artefact(t, "deploy/Containerfile"), t.TempDir())
		id := buildah("from", "--quiet", "localhost/runners")
		inside := func(args ...string) []string {
			return append([]string{"--root", dir + "/root", "--runroot", dir + "/run", "run", "--env", "MCP_AIO_KEY=" + strings.Repeat("k", 32), id, "--"}, args...)
		}
		for _, runner := range []string{"npx", "uvx"} {
			if out := must(t, env, "buildah", inside(runner, "--version")...); !strings.Contains(out, ".") {
				t.Errorf("%s: %s", runner, out)
			}
		}
		exe := "/usr/bin/" + name
		firstCall(t, env, exe, append([]string{"buildah"}, inside(exe)...)...)
		url := mcptest.Start(t, mcptest.Program{Path: "buildah", Args: inside(exe, "http", "--host", "0.0.0.0", "--port", "0"), Env: env}).Listening()
		knows(t, url, strings.Repeat("k", 32))
		must(t, env, "buildah", inside(exe, "status", "--running")...)
	})
}
