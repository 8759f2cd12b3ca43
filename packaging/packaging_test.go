package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/tailscale/hujson"

	"mcp-all-in-one/internal/cli"
	"mcp-all-in-one/internal/mcptest"
)

// sample returns a release without binaries.
func sample(t *testing.T) *release {
	t.Helper()
	r := &release{root: "..", out: t.TempDir(), at: time.Unix(1_800_000_000, 0).UTC(), sums: map[string]string{}, binaries: map[string][]byte{}, only: []string{"test"}}
	for _, x := range targets {
		r.binaries[x.String()] = []byte(x.String())
	}
	r.common = []file{{name: "README.md", mode: 0o644, data: []byte("# read me\n")}}
	return r
}

// written returns the files that a step wrote, by name.
func written(t *testing.T, r *release, step func(*release) error) map[string]string {
	t.Helper()
	if err := step(r); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for name := range r.sums {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	return files
}

func TestSameBytes(t *testing.T) {
	t.Run("get/same bytes", func(t *testing.T) {
		for _, step := range []func(*release) error{(*release).archives, (*release).npm, (*release).wheels, (*release).mcpb, (*release).deploy} {
			one, another := sample(t), sample(t)
			slices.Reverse(another.common)
			if first, second := written(t, one, step), written(t, another, step); len(first) == 0 || !sameFiles(first, second) {
				t.Errorf("%d and %d files differ", len(first), len(second))
			}
		}
	})
}

// TestNamesOnThePage checks that the files of a release have different names
// without their folders, as on the release page, and that SHA256SUMS has these
// names, so that a person can check a download.
func TestNamesOnThePage(t *testing.T) {
	t.Run("get/names on the page", func(t *testing.T) {
		r := sample(t)
		for _, step := range []func(*release) error{(*release).archives, (*release).npm, (*release).wheels, (*release).mcpb, (*release).deploy, (*release).manifests} {
			if err := step(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.checksums(); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"compose.yaml", "cluster.yaml", "mcp-all-in-one-" + version + ".tgz", "mcp-all-in-one-chart-" + version + ".tgz"} {
			if strings.Count(string(list), "  "+name+"\n") != 1 {
				t.Errorf("SHA256SUMS has not one line of %s:\n%s", name, list)
			}
		}
		if strings.Contains(string(list), "/") {
			t.Errorf("SHA256SUMS has folders:\n%s", list)
		}
	})
}

func sameFiles(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, text := range a {
		if b[name] != text {
			return false
		}
	}
	return true
}

// TestManifestsAreWellFormed parses the files for package managers.
func TestManifestsAreWellFormed(t *testing.T) {
	r := sample(t)
	files := written(t, r, (*release).manifests)
	for name, text := range files {
		t.Run("get/"+name, func(t *testing.T) {
			if strings.Contains(text, "[[") || strings.Contains(text, "]]") {
				t.Error("a mark of the template is left")
			}
			switch filepath.Ext(name) {
			case ".json":
				if !json.Valid([]byte(text)) {
					t.Errorf("no JSON: %s", text)
				}
			case ".yaml":
				var v map[string]any
				if err := yaml.Unmarshal([]byte(text), &v); err != nil || v["PackageVersion"] != version {
					t.Errorf("%v: %v", err, v)
				}
			}
		})
	}
	if len(files) < 7 {
		t.Errorf("only %d manifests", len(files))
	}
}

// command is a command line of the program in a manifest.
type command struct {
	where string
	args  []string
}

// commands returns all command lines in the files that we ship.
func commands(t *testing.T) []command {
	t.Helper()
	r := sample(t)
	files := written(t, r, (*release).deploy)
	var list []command
	lists := regexp.MustCompile(`(?m)(?:args|command|test): (\[".*"\])$`)
	for name, text := range files {
		for _, m := range lists.FindAllStringSubmatch(text, -1) {
			var args []string
			if err := json.Unmarshal([]byte(m[1]), &args); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(args) > 1 && args[0] == "CMD" {
				args = args[2:]
			}
			list = append(list, command{name, args})
		}
	}
	helm := regexp.MustCompile(`concat \(list (.*?) \(toString`).FindStringSubmatch(files["deploy/chart/templates/all.yaml"])
	list = append(list, command{"the chart", append(strings.Split(strings.ReplaceAll(helm[1], `"`, ""), " "), "3095")})
	for _, unit := range []string{"system", "user"} {
		text, err := linuxFiles.ReadFile("linux/" + unit + ".service")
		if err != nil {
			t.Fatal(err)
		}
		line := regexp.MustCompile(`(?m)^ExecStart=\S+ (.*)$`).FindSubmatch(text)
		list = append(list, command{unit + ".service", strings.Fields(string(line[1]))})
	}
	settings := r.imageSettings(targets[0], "")["config"].(map[string]any)
	return append(list, command{"the image", settings["Cmd"].([]string)},
		command{"its health check", settings["Healthcheck"].(map[string]any)["Test"].([]string)[2:]})
}

// TestCommandsExist checks every command line in manifests and units against
// the program.
func TestCommandsExist(t *testing.T) {
	list := commands(t)
	for _, c := range list {
		t.Run("get/flags of "+c.where, func(t *testing.T) {
			cmd, rest, err := cli.Root().Find(c.args)
			if err != nil || !cmd.HasParent() {
				t.Fatalf("%v is no command: %v", c.args, err)
			}
			if err := cmd.ParseFlags(rest); err != nil {
				t.Errorf("%v: %v", c.args, err)
			}
			if port := cmd.Flag("port"); port != nil && port.Changed && port.Value.String() != port.DefValue {
				t.Errorf("port %s, the program's is %s", port.Value, port.DefValue)
			}
		})
	}
	if len(list) < 8 {
		t.Errorf("found only %d", len(list))
	}
}

// TestPathsExist requests the paths of the probes from a gateway, and loads the
// configurations that we ship.
func TestPathsExist(t *testing.T) {
	r := sample(t)
	files := written(t, r, (*release).deploy)
	url := mcptest.Start(t, mcptest.Program{Path: mcptest.BuildProduct(t), Args: []string{"http", "-p", "0"}, Env: []string{"HOME=" + t.TempDir(), "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="}}).Listening()
	found := 0
	for name, text := range files {
		for _, m := range regexp.MustCompile(`httpGet: \{ path: (\S+), port: http(?:, scheme: [^}]*\}\})? \}`).FindAllStringSubmatch(text, -1) {
			found++
			t.Run("get/path "+m[1]+" of "+name, func(t *testing.T) {
				resp, err := http.Get(url + m[1])
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				// Before its servers have started, it reports that it is not
				// ready.
				if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), `"status":`) {
					t.Errorf("%s: %s", resp.Status, body)
				}
			})
		}
	}
	if found < 6 {
		t.Errorf("found only %d probes", found)
	}
}

// TestConfigurations checks the config files of packages and image with the
// program.
func TestConfigurations(t *testing.T) {
	packaged, err := linuxFiles.ReadFile("linux/config.json")
	if err != nil {
		t.Fatal(err)
	}
	shipped := map[string][]byte{"package": packaged, "image": imageConfig}
	for name, text := range written(t, sample(t), (*release).deploy) {
		if m := regexp.MustCompile(`content: \|\n((?: {6}.*\n)+)`).FindStringSubmatch(text); m != nil {
			shipped[name] = []byte(strings.NewReplacer("$${file:/run/secrets/mcp-", "${file:./").Replace(m[1]))
		}
	}
	if len(shipped) != 4 {
		t.Fatalf("%d configurations, want those of two compose files too", len(shipped))
	}
	for name, text := range shipped {
		t.Run("get/configuration of the "+name, func(t *testing.T) {
			if _, err := hujson.Parse(text); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for file, text := range map[string][]byte{"config.json": text, "key": bytes.Repeat([]byte("k"), 40), "secret": bytes.Repeat([]byte("s"), 40)} {
				if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), mcptest.BuildProduct(t), "config", "validate", "-c", filepath.Join(dir, "config.json"))
			cmd.Env = append(os.Environ(), "MCP_AIO_KEY="+strings.Repeat("k", 40), "HOME="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
