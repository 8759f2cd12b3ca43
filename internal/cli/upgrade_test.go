package cli_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"aead.dev/minisign"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/upgrade"
)

// The versions of both programs are of one length, so that one program is made
// from the other without linking it.
const oldVersion, newVersion = "11.22.33", "99.88.77"

// A releasePage serves files as the release page does, with downloads on
// another host.
type releasePage struct {
	url     string
	files   map[string][]byte
	public  string
	private minisign.PrivateKey
}

func newReleasePage(t *testing.T) *releasePage {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &releasePage{files: map[string][]byte{}, public: public.String(), private: private}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := p.files[filepath.Base(r.URL.Path)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(data)
	}))
	t.Cleanup(elsewhere.Close)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/releases/latest/download/") && !strings.HasPrefix(r.URL.Path, "/releases/download/v"+newVersion+"/") {
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, elsewhere.URL+"/asset/"+filepath.Base(r.URL.Path), http.StatusFound)
	}))
	t.Cleanup(page.Close)
	p.url = page.URL + "/releases"
	return p
}

// pack returns the archive of a program in a release.
func pack(t *testing.T, version string, program []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.NoCompression) // 30 MB, and the race detector is slow
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	must.OK(t, w.WriteHeader(&tar.Header{Name: "mcp-all-in-one-" + version + "/mcp-all-in-one", Mode: 0o755, Size: int64(len(program)), Typeflag: tar.TypeReg}))
	if _, err := w.Write(program); err != nil {
		t.Fatal(err)
	}
	must.OK(t, w.Close())
	must.OK(t, z.Close())
	return out.Bytes()
}

// put makes a release of an archive.
func (p *releasePage) put(version string, data []byte) {
	archive := fmt.Sprintf("mcp-all-in-one-%s-%s.tar.gz", version, upgrade.Platform(runtime.GOOS, runtime.GOARCH))
	sums := fmt.Appendf(nil, "%x  %s\n%x  npm/mcp-all-in-one-%s.tgz\n", sha256.Sum256(data), archive, sha256.Sum256(nil), version)
	clear(p.files)
	p.files[archive], p.files["SHA256SUMS"], p.files["SHA256SUMS.minisig"] = data, sums, minisign.Sign(p.private, sums)
}

// build builds the program as a release does, in both versions.
func (p *releasePage) build(t *testing.T) (old, fresh []byte) {
	t.Helper()
	root, path := filepath.Join("..", ".."), filepath.Join(t.TempDir(), "mcp-all-in-one")
	const in = "mcp-all-in-one/internal"
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags", fmt.Sprintf("-s -w -X %s/upgrade.source=%s -X %s/upgrade.key=%s -X %s/mcp.ProductVersion=%s", in, p.url, in, p.public, in, oldVersion), "-o", path, ".")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	old = []byte(must.Read(t, path))
	return old, bytes.ReplaceAll(old, []byte(oldVersion), []byte(newVersion))
}

// writeProgram writes a program that is run immediately. No parallel test may
// fork meanwhile: until its child executes another program, the child holds the
// file open for writing, and Linux refuses to run such a file.
func writeProgram(t *testing.T, path string, program []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	must.Program(t, path, program)
}

// TestUpgrade replaces a program with one from a release page, or refuses to.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	page := newReleasePage(t)
	old, fresh := page.build(t)
	packed := pack(t, newVersion, fresh)
	place := func(t *testing.T, program []byte) (path string, run func(args ...string) (string, int)) {
		t.Helper()
		dir := t.TempDir()
		path = filepath.Join(dir, "mcp-all-in-one")
		writeProgram(t, path, program)
		return path, func(args ...string) (string, int) {
			cmd := exec.CommandContext(t.Context(), path, args...)
			cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG=en")
			out, _ := cmd.CombinedOutput()
			return string(out), cmd.ProcessState.ExitCode()
		}
	}
	is := func(t *testing.T, run func(...string) (string, int), version string) {
		t.Helper()
		if out, code := run("--version"); code != 0 || !strings.HasPrefix(out, version+"\n") {
			t.Errorf("it is not version %s: %d %s", version, code, out)
		}
	}
	t.Run("get/upgrade says how and changes nothing", func(t *testing.T) {
		page.put(newVersion, packed)
		_, run := place(t, old)
		out, code := run("upgrade")
		if code != 0 || !strings.Contains(out, "version "+newVersion+" is available") || !strings.Contains(out, "upgrade --yes") {
			t.Errorf("%d %s", code, out)
		}
		is(t, run, oldVersion)
	})
	t.Run("get/upgrade replaces, and goes back", func(t *testing.T) {
		page.put(newVersion, packed)
		path, run := place(t, old)
		if out, code := run("upgrade", "--yes"); code != 0 || !strings.Contains(out, newVersion) {
			t.Fatalf("%d %s", code, out)
		}
		is(t, run, newVersion)
		if out, code := run("upgrade"); code != 0 || !strings.Contains(out, "is the newest") {
			t.Errorf("again: %d %s", code, out)
		}
		if out, code := run("upgrade", "--undo"); code != 0 {
			t.Errorf("undo: %d %s", code, out)
		}
		is(t, run, oldVersion)
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 3 {
			t.Errorf("left in the folder: %v %v", left, err)
		}
	})
	t.Run("get/upgrade has nothing to undo", func(t *testing.T) {
		_, run := place(t, old)
		if out, code := run("upgrade", "--undo"); code != 1 || !strings.Contains(out, "no older copy") {
			t.Errorf("%d %s", code, out)
		}
	})
	refused := func(name, why string, program []byte, spoil func()) {
		t.Run("get/upgrade refuses "+name, func(t *testing.T) {
			page.put(newVersion, packed)
			spoil()
			path, run := place(t, program)
			if out, code := run("upgrade", "--yes"); code != 1 || !strings.Contains(out, why) {
				t.Errorf("%d %s", code, out)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, program) {
				t.Errorf("the program has changed: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".new-*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	archive := fmt.Sprintf("mcp-all-in-one-%s-%s.tar.gz", newVersion, upgrade.Platform(runtime.GOOS, runtime.GOARCH))
	refused("another archive", "checksum", old, func() { page.files[archive] = append(slices.Clip(packed), 0) })
	refused("a list that was changed", "signature", old, func() { page.files["SHA256SUMS"] = append(page.files["SHA256SUMS"], '\n') })
	refused("a list without a signature", "404", old, func() { delete(page.files, "SHA256SUMS.minisig") })
	refused("the signature of another key", "signature", old, func() {
		_, private, err := minisign.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		page.files["SHA256SUMS.minisig"] = minisign.Sign(private, page.files["SHA256SUMS"])
	})
	refused("a program that does not start", "does not start", old, func() { page.put(newVersion, pack(t, newVersion, []byte("nonsense"))) })
	refused("a program of another version", "not "+newVersion, old, func() { page.put(newVersion, pack(t, newVersion, old)) })
	built := []byte(must.Read(t, mcptest.BuildProduct(t)))
	refused("without a key", "git pull", built, func() {})
	t.Run("get/upgrade leaves files of package managers", func(t *testing.T) {
		page.put(newVersion, packed)
		dir := filepath.Join(t.TempDir(), "node_modules", "mcp-all-in-one")
		must.OK(t, os.MkdirAll(dir, 0o755))
		path := filepath.Join(dir, "mcp-all-in-one")
		writeProgram(t, path, old)
		cmd := exec.CommandContext(t.Context(), path, "upgrade", "--yes")
		cmd.Env = append(os.Environ(), "HOME="+dir, "MCP_AIO_LANG=en")
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "npm install -g") {
			t.Errorf("%s", out)
		}
	})
	t.Run("get/upgrade does not go back by itself", func(t *testing.T) {
		page.put("0.9.0", pack(t, "0.9.0", old))
		_, run := place(t, old)
		if out, code := run("upgrade", "--yes"); code != 0 || !strings.Contains(out, "is the newest") {
			t.Errorf("%d %s", code, out)
		}
	})
}
