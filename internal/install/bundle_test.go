package install

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcptest/must"
)

// here returns a machine that has all programs.
func here(t *testing.T) *System {
	t.Helper()
	return &System{OS: "linux", Can: func(string) bool { return true }, Has: func(string) string { return "v22.1.0" },
		Folders: map[string]string{"HOME": "/home/me"}, Bundles: filepath.Join(t.TempDir(), "bundles")}
}

// packed writes a zip file with entries in order: names and contents alternate.
func packed(t *testing.T, change func(*zip.FileHeader), entries ...string) string {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := 0; i < len(entries); i += 2 {
		h := &zip.FileHeader{Name: entries[i], Method: zip.Deflate}
		h.SetMode(0o644)
		if strings.HasSuffix(h.Name, "/") {
			h.SetMode(fs.ModeDir | 0o755)
		}
		if entries[i+1] == "" {
			h.Method = zip.Store // a compressor clears a megabyte before each entry
		}
		if change != nil && entries[i] != "manifest.json" {
			change(h)
		}
		out, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, entries[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	must.OK(t, w.Close())
	return put(t, buf.Bytes())
}

func put(t *testing.T, data []byte) string {
	t.Helper()
	return must.Write(t, filepath.Join(t.TempDir(), "x.mcpb"), data)
}

const goodManifest = `{"manifest_version":"0.3","name":"x","version":"1.0.0","description":"d","author":{"name":"a"},"server":{"type":"node","entry_point":"i.js","mcp_config":{"command":"node","args":["${__dirname}/i.js"]}}}`

// Bundles that the official tool packed, and one that it signed.
func TestOfficialBundles(t *testing.T) {
	for name, signed := range map[string]bool{"hello.mcpb": false, "hello-signed.mcpb": true} {
		t.Run("install/bundle/"+name, func(t *testing.T) {
			b, err := FetchBundle(t.Context(), filepath.Join("testdata", "bundles", name), "")
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if (b.Signature != nil) != signed {
				t.Errorf("signed %v", b.Signature)
			}
			s := here(t)
			p, err := b.Plan(s)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			answers := Answers{KindArg: {"folders": {dir, s.Bundles + "/.."}}, KindEnv: {"key": {"s3"}}}
			filled := settled(t, p.Questions, p.Fill, answers)
			filled.Entry.Origin = nil
			filled.Entry.Confine()
			got, err := filled.Entry.JSON()
			if err != nil {
				t.Fatal(err)
			}
			own := b.Folder(s.Bundles)
			want := fmt.Sprintf(`{"command":"node","args":["%[1]s/server/index.js","--greeting=hello","%[2]s","%[3]s"],"env":{"HELLO_KEY":"${secret:n.key}"},"sandbox":{"read":["%[1]s"],"write":["%[2]s","%[3]s"]}}`,
				own, dir, filepath.Dir(s.Bundles))
			if string(got) != want || filled.Secrets["n.key"] != "s3" {
				t.Errorf("got  %s\nwant %s\nsecrets %v", got, want, filled.Secrets)
			}
			must.OK(t, b.Unpack(s.Bundles))
			info, err := os.Stat(filepath.Join(own, "server", "index.js"))
			if err != nil || info.Mode().Perm() != 0o400 {
				t.Errorf("%v, %v", info, err)
			}
			if err := b.Unpack(s.Bundles); err != nil {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

// planned returns the plan of a bundle with a manifest and one file.
func planned(t *testing.T, manifest string) *BundlePlan {
	t.Helper()
	b, err := FetchBundle(t.Context(), packed(t, nil, "manifest.json", manifest, "i.js", ""), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	p, err := b.Plan(here(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A bundle may suggest a folder, but gets only folders that a person chose.
func TestFolderOfBundle(t *testing.T) {
	for _, folder := range []string{"/", "${HOME}", t.TempDir()} {
		t.Run("install/folder/"+folder, func(t *testing.T) {
			manifest := strings.Replace(goodManifest, `"server"`, fmt.Sprintf(`"user_config":{"dir":{"type":"directory","title":"t","default":%q},"f":{"type":"file","title":"t","default":"/etc/passwd"}},"server"`, folder), 1)
			p := planned(t, manifest)
			answers := Answers{}
			filled := settled(t, p.Questions, p.Fill, answers)
			if got := filled.Entry.needs; len(got.Write) > 0 || len(got.Read) != 1 {
				t.Errorf("it may use %+v", got)
			}
		})
	}
}

// A bundle may lead programs to its own files, and to what a person types.
func TestSteeringOfBundle(t *testing.T) {
	manifest := strings.Replace(goodManifest, `"command":"node"`, `"env":{"PUPPETEER_EXECUTABLE_PATH":"${__dirname}/chrome","BROWSER":"${user_config.b}"},"command":"node"`, 1)
	manifest = strings.Replace(manifest, `"server"`, `"user_config":{"b":{"type":"string","default":"sh -c x"}},"server"`, 1)
	p := planned(t, manifest)
	for answer, want := range map[string]string{"": "", "firefox": "firefox"} {
		answers := Answers{}
		if answer != "" {
			answers.Set(&p.Questions[0], answer)
		}
		must.OK(t, Settle(p.Questions, answers))
		f, err := p.Fill("n", answers)
		if err != nil || f.Entry.Env["BROWSER"] != want || !strings.HasSuffix(f.Entry.Env["PUPPETEER_EXECUTABLE_PATH"], "/chrome") {
			t.Errorf("install/bundle/steering %q: %+v, %v", answer, f, err)
		}
	}
}

// What was shown is unpacked, even if the file is replaced before the yes.
func TestBundleChangedMeanwhile(t *testing.T) {
	path := packed(t, nil, "manifest.json", goodManifest, "i.js", "good()")
	evil := []byte(must.Read(t, packed(t, nil, "manifest.json", goodManifest, "i.js", "evil()")))
	b, err := FetchBundle(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := os.WriteFile(path, evil, 0o600); err != nil { // the same file, with other content
		t.Fatal(err)
	}
	dir := t.TempDir()
	must.OK(t, b.Unpack(dir))
	if data, err := os.ReadFile(filepath.Join(b.Folder(dir), "i.js")); err != nil || string(data) != "good()" {
		t.Errorf("install/bundle/changed: %q, %v", data, err)
	}
}

func TestBadBundles(t *testing.T) {
	good := []string{"manifest.json", goodManifest, "i.js", ""}
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	mode := func(m fs.FileMode) func(*zip.FileHeader) { return func(h *zip.FileHeader) { h.SetMode(m) } }
	for name, tt := range map[string]struct {
		change  func(*zip.FileHeader)
		entries []string
		want    string
	}{
		"up":               {nil, with("../x", ""), "is not a plain path inside the bundle"},
		"up inside":        {nil, with("a/../../x", ""), "is not a plain path inside the bundle"},
		"absolute":         {nil, with("/etc/x", ""), "is not a plain path inside the bundle"},
		"drive":            {nil, with("C:/x", ""), "is not a plain path inside the bundle"},
		"UNC":              {nil, with(`\\h\x`, ""), "is not a plain path inside the bundle"},
		"backslash":        {nil, with(`a\x`, ""), "is not a plain path inside the bundle"},
		"NUL":              {nil, with("a\x00b", ""), "is not a plain path inside the bundle"},
		"unseen":           {nil, with("a\u202eb", ""), "⟨U+202E⟩"},
		"dots":             {nil, with("a/. ./x", ""), "is not a plain path inside the bundle"},
		"empty part":       {nil, with("a//x", ""), "is not a plain path inside the bundle"},
		"same name":        {nil, with("a", "", "a", ""), "two entries have the name"},
		"same but case":    {nil, with("a/X", "", "A/x", ""), "two entries have the name"},
		"same after NFC":   {nil, with("\u00e9", "", "e\u0301", ""), "two entries have the name"},
		"same but letters": {nil, with("stra\u00dfe", "", "STRASSE", ""), "two entries have the name"},
		"same but joined":  {nil, with("\ufb01x", "", "FIX", ""), "two entries have the name"},
		"file and folder":  {nil, with("a", "", "a/b", ""), "refused"},
		"link":             {mode(fs.ModeSymlink | 0o777), with("l", "/etc/passwd"), "neither a file nor a folder"},
		"device":           {mode(fs.ModeDevice | 0o600), with("d", ""), "neither a file nor a folder"},
		"pipe":             {mode(fs.ModeNamedPipe | 0o600), with("p", ""), "neither a file nor a folder"},
		"set-id":           {mode(fs.ModeSetuid | 0o755), with("s", ""), "set-id"},
		"nested manifest":  {nil, []string{"x/manifest.json", goodManifest}, "its manifest is x/manifest.json"},
		"no manifest":      {nil, []string{"x", ""}, "no manifest.json"},
		"ratio":            {nil, with("z", strings.Repeat("\x00", 1<<20)), "more than 200 times"},
		"manifest twice":   {nil, []string{"manifest.json", strings.Replace(goodManifest, `"name":"x"`, `"name":"x","name":"y"`, 1)}, "is there twice"},
		"manifest version": {nil, []string{"manifest.json", strings.Replace(goodManifest, `"0.3"`, `"9.9"`, 1)}, "version 9.9"},
		"version lines":    {nil, []string{"manifest.json", strings.Replace(goodManifest, `"1.0.0"`, `"1.0.0\nsandbox off"`, 1)}, "is not a version"},
		"version escapes":  {nil, []string{"manifest.json", strings.Replace(goodManifest, `"1.0.0"`, `"1.0.0\u001b[2K"`, 1)}, "is not a version"},
		"version unseen":   {nil, []string{"manifest.json", strings.Replace(goodManifest, `"1.0.0"`, `"1.0.\u202e0"`, 1)}, "is not a version"},
		"version spaces":   {nil, []string{"manifest.json", strings.Replace(goodManifest, `"1.0.0"`, `"1.0.0 from the registry official"`, 1)}, "is not a version"},
		"version path":     {nil, []string{"manifest.json", strings.Replace(goodManifest, `"1.0.0"`, `"../1.0.0"`, 1)}, "is not a version"},
		"version long":     {nil, []string{"manifest.json", strings.Replace(goodManifest, `"1.0.0"`, `"1.0.`+strings.Repeat("0", 10<<10)+`"`, 1)}, "is not a version"},
		"server type":      {nil, []string{"manifest.json", strings.Replace(goodManifest, `"type":"node"`, `"type":"shell"`, 1)}, "type shell"},
		"entry point":      {nil, []string{"manifest.json", strings.Replace(goodManifest, `"i.js"`, `"../i.js"`, 1)}, "is not a plain path inside the bundle"},
		"other command":    {nil, []string{"manifest.json", strings.Replace(goodManifest, `"command":"node"`, `"command":"bash"`, 1)}, "runs bash"},
		"command outside":  {nil, []string{"manifest.json", strings.Replace(goodManifest, `"command":"node"`, `"command":"${__dirname}/../x"`, 1)}, "which is neither its own"},
		"steering":         {nil, []string{"manifest.json", strings.Replace(goodManifest, `"command":"node"`, `"env":{"NODE_OPTIONS":"x"},"command":"node"`, 1)}, "sets NODE_OPTIONS"},
		"python elsewhere": {nil, []string{"manifest.json", strings.Replace(goodManifest, `"command":"node"`, `"env":{"PYTHONPATH":"${__dirname}/a:/tmp"},"command":"node"`, 1)}, "sets PYTHONPATH"},
		"browser":          {nil, []string{"manifest.json", strings.Replace(goodManifest, `"command":"node"`, `"env":{"BROWSER":"sh -c x"},"command":"node"`, 1)}, "sets BROWSER itself"},
		"more than asked":  {nil, []string{"manifest.json", strings.Replace(strings.Replace(goodManifest, `"command":"node"`, `"env":{"KUBECONFIG":"/x${user_config.k}"},"command":"node"`, 1), `"server"`, `"user_config":{"k":{"type":"string"}},"server"`, 1)}, "sets KUBECONFIG itself"},
		"other platform":   {nil, []string{"manifest.json", strings.Replace(goodManifest, `"server"`, `"compatibility":{"platforms":["win32"]},"server"`, 1)}, "it is for win32, but this system is linux"},
		"other runtime":    {nil, []string{"manifest.json", strings.Replace(goodManifest, `"server"`, `"compatibility":{"runtimes":{"node":">=99"}},"server"`, 1)}, "needs node >=99, but v22.1.0 is installed"},
		"unknown setting":  {nil, []string{"manifest.json", strings.Replace(goodManifest, `"server"`, `"user_config":{"a":{"type":"magic"}},"server"`, 1)}, "type magic"},
	} {
		t.Run("install/bad-bundle/"+name, func(t *testing.T) {
			refused(t, packed(t, tt.change, tt.entries...), tt.want)
		})
	}
	t.Run("install/bad-bundle/not a zip", func(t *testing.T) { refused(t, put(t, []byte("hello")), "not a zip") })
	t.Run("install/bad-bundle/many entries", func(t *testing.T) {
		entries := good
		for i := range maxEntries {
			entries = append(entries, fmt.Sprint("e/", i), "")
		}
		refused(t, packed(t, nil, entries...), "more than 50000 entries")
	})
	data := []byte(must.Read(t, packed(t, nil, good...)))
	t.Run("install/bad-bundle/two headers", func(t *testing.T) {
		refused(t, put(t, bytes.Replace(data, []byte("i.js"), []byte("j.js"), 1)), "do not agree")
	})
	t.Run("install/bad-bundle/size in the header", func(t *testing.T) {
		raw := []byte(must.Read(t, packed(t, nil, with("big", strings.Repeat("abcdefgh", 100))...)))
		at := bytes.LastIndex(raw, []byte("PK\x01\x02")) + 24 // position of the size in the central directory
		raw[at], raw[at+1] = 1, 0
		refused(t, put(t, raw), "refused")
	})
	t.Run("install/bad-bundle/sha256", func(t *testing.T) {
		_, err := FetchBundle(t.Context(), put(t, data), strings.Repeat("0", 64))
		if codeOf(err) != env.CodeDigest || !strings.Contains(err.Error(), "the registry says "+strings.Repeat("0", 64)+": nothing was unpacked") {
			t.Error(err)
		}
	})
}

// refused checks that a bundle is refused and no file of it remains.
func refused(t *testing.T, path, want string) {
	t.Helper()
	s := here(t)
	b, err := FetchBundle(t.Context(), path, "")
	if err == nil {
		defer b.Close()
		if _, err = b.Plan(s); err == nil {
			err = b.Unpack(s.Bundles)
		}
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if left, _ := os.ReadDir(s.Bundles); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// The address of a bundle is untrusted: addresses of this machine and of
// private networks are not fetched.
func TestBundleFromAddress(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	t.Cleanup(srv.Close)
	for _, address := range []string{srv.URL + "/x.mcpb", strings.Replace(srv.URL, "https", "http", 1) + "/x.mcpb", "https://169.254.169.254/x.mcpb"} {
		if !IsBundle(address) {
			t.Errorf("install/bundle-address: %s is no bundle", address)
		}
		if _, err := FetchBundle(t.Context(), address, ""); codeOf(err) != env.CodeBundleAway {
			t.Errorf("install/bundle-address: %s: %v", address, err)
		}
	}
}

// FuzzManifest checks that the plan of any manifest runs only the bundle's own
// files or the program of its type.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(goodManifest))
	f.Add([]byte(`{"dxt_version":"0.1","name":"x","server":{"type":"uv","entry_point":"a.py","mcp_config":{}},"user_config":{"a":{"type":"string","default":["x"],"multiple":true}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := &Bundle{SHA256: "0"}
		if parseStrict(data, &b.Manifest) != nil || b.Manifest.check() != nil {
			return
		}
		s := &System{OS: "linux", Can: func(string) bool { return true }, Has: func(string) string { return "9" }, Bundles: "/b"}
		p, err := b.Plan(s)
		if err != nil {
			return
		}
		answers := Answers{}
		if Settle(p.Questions, answers) != nil {
			return
		}
		filled, err := p.Fill("n", answers)
		if err != nil {
			return
		}
		command := filled.Entry.Command
		if !strings.HasPrefix(command, "/b/0/") && command != "node" && command != "python" && command != "python3" && command != "uv" || strings.Contains(command, "..") {
			t.Errorf("it runs %s", command)
		}
		if raw, err := filled.Entry.JSON(); err != nil || !json.Valid(raw) {
			t.Errorf("%s, %v", raw, err)
		}
	})
}

// BenchmarkUnpack unpacks as many files as a published bundle has.
func BenchmarkUnpack(b *testing.B) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := range 2500 {
		name := "manifest.json"
		if i > 0 {
			name = fmt.Sprintf("node_modules/p%d/lib/f%d.js", i/28, i)
		}
		out, err := w.Create(name)
		if err != nil {
			b.Fatal(err)
		}
		fmt.Fprint(out, goodManifest)
		for n := range 250 {
			if i > 0 {
				fmt.Fprintf(out, "const a%d = %d;\n", n*i, i)
			}
		}
	}
	must.OK(b, w.Close())
	path := must.Write(b, filepath.Join(b.TempDir(), "x.mcpb"), buf.Bytes())
	for b.Loop() {
		bundle, err := FetchBundle(b.Context(), path, "")
		if err != nil {
			b.Fatal(err)
		}
		must.OK(b, bundle.Unpack(b.TempDir()))
		bundle.Close()
	}
}
