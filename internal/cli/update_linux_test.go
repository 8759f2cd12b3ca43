package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// repacked writes the bundle that the official tool packed, with its manifest
// changed.
func repacked(t *testing.T, path string, change func(manifest map[string]any)) {
	t.Helper()
	in, err := zip.OpenReader(filepath.Join("..", "install", "testdata", "bundles", "hello.mcpb"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var buf bytes.Buffer
	out := zip.NewWriter(&buf)
	for _, f := range in.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if f.Name == "manifest.json" {
			var manifest map[string]any
			must.Parse(t, data, &manifest)
			change(manifest)
			if data, err = json.Marshal(manifest); err != nil {
				t.Fatal(err)
			}
		}
		w, err := out.Create(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	must.OK(t, out.Close())
	must.Write(t, path, buf.Bytes())
}

// A bundle gets a new version: what its entry says stays, what is new is asked,
// and nothing is written before the yes.
func TestUpdateBundle(t *testing.T) {
	t.Parallel()
	i := newInstaller(t)
	bundle := filepath.Join(i.dir, "hello.mcpb")
	repacked(t, bundle, func(map[string]any) {})
	if _, stderr, code := i.run(t, "add", bundle, "--yes", "--arg", "folders="+i.chosen, "--arg", "greeting=good day", "--env", "key=s3cret"); code != 0 {
		t.Fatal(stderr)
	}
	read := func() string {
		t.Helper()
		return must.Read(t, i.path)
	}
	// The person has changed the entry since.
	mine := strings.Replace(read(), `"HELLO_KEY"`, `"MINE": "1", "HELLO_KEY"`, 1)
	mine = strings.Replace(mine, `"origin"`, `"tools": {"hello": {"ask": false}}, "origin"`, 1)
	must.Write(t, i.path, mine)
	if stdout, stderr, code := i.run(t, "update", "hello"); code != 0 || !strings.Contains(stderr, "nothing to update: hello") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	newer := func(m map[string]any) {
		m["version"] = "9.0.0"
		user := m["user_config"].(map[string]any)
		user["tone"] = map[string]any{"type": "string", "title": "Tone", "required": true}
		run := m["server"].(map[string]any)["mcp_config"].(map[string]any)
		run["args"] = append([]any{run["args"].([]any)[0], "--tone=${user_config.tone}", "--long=" + strings.Repeat("x", 300) + "END"}, run["args"].([]any)[1:]...)
	}
	repacked(t, bundle, newer)
	t.Run("update/list", func(t *testing.T) {
		stdout, stderr, code := i.run(t, "update")
		if code != 0 || !strings.Contains(stdout, "hello\t") || !strings.Contains(stdout, "\t9.0.0\t") || !strings.Contains(stdout, "update hello") {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	})
	t.Run("update/nobody to ask", func(t *testing.T) {
		if _, stderr, code := i.run(t, "update", "hello"); code != 10 || !strings.Contains(stderr, "give --arg tone=...") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		if read() != mine {
			t.Errorf("something was written: %s", read())
		}
	})
	t.Run("update/no", func(t *testing.T) {
		p := i.typing(t, "", "update", "hello")
		p.answer("tone: ", "calm")
		p.see("+ question tone")
		p.answer("Write and start this version? [y/N/e edit the entry]: ", "n")
		if text, code := p.end(); code == 0 {
			t.Error(text)
		}
		folders, err := os.ReadDir(filepath.Join(i.dir, "mcp-all-in-one", "bundles"))
		if read() != mine || err != nil || len(folders) != 1 {
			t.Errorf("something was written: %v %v %s", folders, err, read())
		}
	})
	t.Run("update/yes", func(t *testing.T) {
		stdout, stderr, code := i.run(t, "update", "hello", "--arg", "tone=calm", "--yes")
		if code != 0 || !strings.Contains(stderr, "started: hello, 1 tool") || !strings.Contains(stdout, "~ entry hello") || !strings.Contains(stdout, `"9.0.0"`) || !strings.Contains(stdout, "xEND") || strings.Contains(stdout, "…") {
			t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
		}
		must.Contain(t, read(), "--tone=calm", "--greeting=good day", i.chosen, `"MINE": "1"`, `"ask": false`, "${secret:hello.key}", `"9.0.0"`)
		if stdout, stderr, code = i.run(t, "call", "hello", "hello"); code != 0 || !strings.Contains(stdout, `"key":"s3cret"`) {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		if old, err := filepath.Glob(i.path + "*"); err != nil || len(old) < 2 {
			t.Errorf("no backup: %v %v", old, err)
		}
	})
	unpacked := func() []string {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(i.dir, "mcp-all-in-one", "bundles", "*"))
		if err != nil || len(all) == 0 {
			t.Fatalf("no bundle was unpacked: %v", err)
		}
		return all
	}
	t.Run("update/does not start", func(t *testing.T) {
		before, bundles := read(), unpacked()
		repacked(t, bundle, func(m map[string]any) {
			newer(m)
			run := m["server"].(map[string]any)["mcp_config"].(map[string]any)
			run["args"] = []any{"${__dirname}/server/nothing.js", "${user_config.folders}"}
		})
		_, stderr, code := i.run(t, "update", "hello", "--yes")
		if code == 0 || !strings.Contains(stderr, "hello was not changed, because the new version did not start") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		if read() != before {
			t.Errorf("%s\nwas %s", read(), before)
		}
		if now := unpacked(); !slices.Equal(now, bundles) {
			t.Errorf("the folder of the new version is left: %q, were %q", now, bundles)
		}
	})
	t.Run("update/older", func(t *testing.T) {
		before := read()
		repacked(t, bundle, func(m map[string]any) { newer(m); m["version"] = "0.0.1" })
		if stdout, stderr, code := i.run(t, "update", "--json"); code != 0 || !strings.Contains(stdout, `"to":"0.0.1","newer":false,"older":true`) {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		if stdout, stderr, code := i.run(t, "update"); code != 0 || !strings.Contains(stdout, "\t0.0.1\tolder") {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		if _, stderr, code := i.run(t, "update", "hello", "--yes"); code != 1 || !strings.Contains(stderr, "0.0.1 is older than the installed 9.0.0, which --yes does not take") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		p := i.typing(t, "", "update", "hello")
		p.answer("this is an older version: 9.0.0 is installed, and this is 0.0.1. Continue anyway? [y/N]: ", "n")
		if text, code := p.end(); code == 0 || read() != before {
			t.Errorf("%s\n%s", text, read())
		}
	})
}

// A bundle that another signer signed, or none, needs a person's approval.
func TestUpdateSigner(t *testing.T) {
	t.Parallel()
	files := filepath.Join("..", "install", "testdata", "bundles")
	i := newInstaller(t)
	bundle := filepath.Join(i.dir, "hello.mcpb")
	put := func(name string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(files, name))
		if err == nil {
			err = os.WriteFile(bundle, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("hello-chain.mcpb")
	if _, stderr, code := i.run(t, "add", bundle, "--yes", "--arg", "folders="+i.chosen, "--env", "key=s3cret"); code != 0 {
		t.Fatal(stderr)
	}
	before, err := os.ReadFile(i.path)
	if err != nil || !strings.Contains(string(before), `"signer": "sha256:`) {
		t.Fatalf("%v\n%s", err, before)
	}
	for name, want := range map[string]string{"hello.mcpb": "; this one: no", "hello-signed.mcpb": "; this one: by CN=MCPB Self-Signed Certificate"} {
		t.Run("update/signer/"+name, func(t *testing.T) {
			put(name)
			_, stderr, code := i.run(t, "update", "hello", "--yes")
			if code != 1 || !strings.Contains(stderr, "! ") || !strings.Contains(stderr, "the installed bundle was signed by sha256:") || !strings.Contains(stderr, want) ||
				!strings.Contains(stderr, "the new version of hello has another signer, or none; --yes does not take that; nothing was changed") {
				t.Errorf("exit code %d\n%s", code, stderr)
			}
			if now, err := os.ReadFile(i.path); err != nil || string(now) != string(before) {
				t.Errorf("%v\n%s", err, now)
			}
		})
	}
	t.Run("update/signer/a person says yes", func(t *testing.T) {
		put("hello.mcpb")
		p := i.typing(t, "", "update", "hello")
		p.answer("; this one: no. Continue anyway? [y/N]: ", "y")
		p.answer("Write and start this version? [y/N/e edit the entry]: ", "y")
		if text, code := p.end(); code != 0 {
			t.Error(text)
		}
		if now, err := os.ReadFile(i.path); err != nil || strings.Contains(string(now), "signer") {
			t.Errorf("%v\n%s", err, now)
		}
	})
}

// A registry lists a newer version of a package: its secret is not asked for
// again, and what cannot be updated says why.
func TestUpdateRegistry(t *testing.T) {
	t.Parallel()
	files := filepath.Join("..", "install", "testdata", "registry")
	const base = "/v0.1/servers/io.github.domdomegg%2Fairtable-mcp-server/versions"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.EscapedPath() {
		case base + "/latest", base + "/1.7.3":
			http.ServeFile(w, r, filepath.Join(files, "airtable-mcp-server.latest.json"))
		case base + "/1.7.2":
			http.ServeFile(w, r, filepath.Join(files, "airtable-mcp-server.1.7.2.json"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	i := newInstaller(t)
	const entry = `{"command": "npx", "args": ["-y", "airtable-mcp-server@1.7.2"], "enabled": false, "env": {"AIRTABLE_API_KEY": "${MY_KEY}"}, "sandbox": {"hosts": ["api.airtable.com"]},
  "origin": {"registry": "work", "name": "io.github.domdomegg/airtable-mcp-server", "version": "1.7.2"}}`
	write := func(entry string) {
		t.Helper()
		content := fmt.Sprintf(`{"registries": [{"name": "work", "url": %q, "names": ["*"]}], "mcpServers": {"airtable": %s, "mine": {"command": "true"}}}`, srv.URL, entry)
		must.Write(t, i.path, content)
	}
	write(entry)
	t.Run("update/registry", func(t *testing.T) {
		stdout, stderr, code := i.run(t, "update", "airtable", "--yes")
		if code != 0 || !strings.Contains(stdout, `.args[1]: "airtable-mcp-server@1.7.2", then "airtable-mcp-server@1.7.3"`) {
			t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
		}
		data, err := os.ReadFile(i.path)
		if err != nil || !strings.Contains(string(data), `${MY_KEY}`) || !strings.Contains(string(data), `"api.airtable.com"`) || !strings.Contains(string(data), `"version": "1.7.3"`) {
			t.Errorf("%s, %v", data, err)
		}
	})
	t.Run("update/registry/back", func(t *testing.T) {
		stdout, stderr, code := i.run(t, "update", "airtable", "--to", "1.7.2", "--yes", "--json")
		if code != 0 || !strings.Contains(stdout, `"to":"1.7.2"`) || !strings.Contains(stdout, `"written":true`) || strings.Count(stdout, "\n") != 1 {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	})
	t.Run("update/registry/older", func(t *testing.T) {
		write(strings.ReplaceAll(entry, "1.7.2", "1.10.0"))
		if _, stderr, code := i.run(t, "update", "airtable", "--yes"); code != 1 || !strings.Contains(stderr, "1.7.3 is older than the installed 1.10.0") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		if stdout, stderr, code := i.run(t, "update", "airtable", "--to", "1.7.3", "--yes"); code != 0 {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	})
	t.Run("update/registry/another registry", func(t *testing.T) {
		write(strings.Replace(entry, `"registry": "work"`, `"registry": "elsewhere"`, 1))
		if _, stderr, _ := i.run(t, "update", "airtable"); !strings.Contains(stderr, "it comes from the registry work now; the installed one came from elsewhere") {
			t.Error(stderr)
		}
	})
	t.Run("update/no origin", func(t *testing.T) {
		if _, stderr, code := i.run(t, "update", "mine"); code != 1 || !strings.Contains(stderr, "AIO2162") || !strings.Contains(stderr, "mine was not added from a registry or a bundle") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})
}

// A new version of a remote server is at another host: its secrets go there only
// after a question that --yes does not answer.
func TestUpdateHost(t *testing.T) {
	t.Parallel()
	var newest atomic.Value // the address of the new version
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version, address := "2.0.0", newest.Load().(string)
		if strings.HasSuffix(r.URL.Path, "/1.0.0") {
			version, address = "1.0.0", "https://one.example/mcp"
		}
		fmt.Fprintf(w, `{"server": {"$schema": "https://static.modelcontextprotocol.io/schemas/2025-10-17/server.schema.json", "name": "com.example/far", "description": "d", "version": %q,
  "remotes": [{"type": "streamable-http", "url": %q, "headers": [{"name": "Authorization", "description": "t", "isSecret": true, "isRequired": true}]}]}, "_meta": {}}`, version, address)
	}))
	t.Cleanup(srv.Close)
	i := newInstaller(t)
	content := fmt.Sprintf(`{"registries": [{"name": "work", "url": %q, "names": ["*"]}], "mcpServers": {"far": {"type": "http", "url": "https://one.example/mcp", "enabled": false,
  "headers": {"Authorization": "${secret:far.Authorization}"}, "origin": {"registry": "work", "name": "com.example/far", "version": "1.0.0"}}}}`, srv.URL)
	must.Write(t, i.path, content)
	for _, at := range []string{"https://two.example/mcp", "https://one.example:8443/mcp"} {
		newest.Store(at)
		t.Run("update/host "+at, func(t *testing.T) {
			_, stderr, code := i.run(t, "update", "far", "--yes")
			if code != 1 || !strings.Contains(stderr, "the new version of far is at another host, which would get its secrets") {
				t.Errorf("exit code %d\n%s", code, stderr)
			}
			p := i.typing(t, "", "update", "far")
			p.answer("its secrets would be sent to another host: "+strings.TrimSuffix(at, "/mcp")+", and until now https://one.example. Continue anyway? [y/N]: ", "n")
			text, code := p.end()
			if data, err := os.ReadFile(i.path); code == 0 || err != nil || string(data) != content {
				t.Errorf("%s\n%s, %v", text, data, err)
			}
		})
	}
	t.Run("update/host the same", func(t *testing.T) {
		newest.Store("https://ONE.example/v2/mcp")
		stdout, stderr, code := i.run(t, "update", "far", "--yes")
		if data, err := os.ReadFile(i.path); code != 0 || err != nil || !strings.Contains(string(data), "/v2/mcp") {
			t.Errorf("exit code %d\n%s%s%s, %v", code, stdout, stderr, data, err)
		}
	})
}
