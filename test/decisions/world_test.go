package decisions

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcptest"
)

// patience is the time limit of every step.
const patience = 30 * time.Second

// A world is one configuration and its users: a gateway over HTTP, one on
// stdio, and keys.
type world struct {
	t    *testing.T
	dir  string // home, config, journal and audit trails
	http *mcptest.Process
	// onStdio is a second gateway with the same configuration; nil if the world
	// has none.
	onStdio *mcptest.RawStdio

	settings map[string]any // the config file
	share    string         // URL of the authorization server; empty for none
	oauth    map[string]any // whose tokens count; nil for none
	keys     map[string]key
	client   http.Client
	lines    int // number of lines sent on stdio
	mu       sync.Mutex
	pulses   map[string]*pulse
	// greeted is set after the handshake on stdio.
	greeted bool
	// control is set if the world contains no decision.
	control bool
	// release ends the calls that drain holds.
	release func()
}

// A key is a secret and the principal it belongs to.
type key struct{ secret, principal string }

// entry returns the config entry of a recorder.
func (w *world) entry(name string, more map[string]any) map[string]any {
	env := map[string]any{envJournal: w.journal(), envName: name}
	entry := map[string]any{"command": own(w.t), "env": env}
	for k, v := range more {
		if strings.HasPrefix(k, envPrefix) {
			env[k] = v
			continue
		}
		entry[k] = v
	}
	return entry
}

// own returns the path of this test binary, which is also the server.
func own(t *testing.T) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (w *world) journal() string          { return filepath.Join(w.dir, "journal.jsonl") }
func (w *world) config() string           { return filepath.Join(w.dir, "mcp.json") }
func (w *world) audit(name string) string { return filepath.Join(w.dir, "audit-"+name+".jsonl") }

// newWorld prepares a folder with keys. The home is not t.TempDir, because the
// path of a socket in it has to be short.
func newWorld(t *testing.T, grants map[string][]string) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "dec")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{t: t, dir: dir, keys: map[string]key{}, pulses: map[string]*pulse{}}
	store, err := access.OpenKeys(filepath.Join(dir, "keys.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, scopes := range grants {
		grant, err := access.ParseScopes(scopes)
		if err != nil {
			t.Fatal(err)
		}
		secret, k, err := store.Create(name, grant, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.keys[name] = key{secret, "key:" + k.ID}
	}
	return w
}

// write writes the config file with the settings of the world and of this
// gateway.
func (w *world) write(path, trail string) {
	w.t.Helper()
	all := maps.Clone(w.settings)
	keys := map[string]any{"keys": filepath.Join(w.dir, "keys.json")}
	if w.share != "" {
		keys["share"] = map[string]any{"url": w.share}
	}
	if w.oauth != nil {
		keys["oauth"] = w.oauth
	}
	all["access"] = keys
	all["audit"] = map[string]any{"file": w.audit(trail)}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) program(args ...string) mcptest.Program {
	return mcptest.Program{Path: mcptest.BuildProduct(w.t), Args: args, Dir: w.dir, Env: []string{
		"HOME=" + w.dir, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "LANG=C", "LC_ALL=C",
	}}
}

// start starts the gateway over HTTP.
func (w *world) start(settings map[string]any) {
	w.t.Helper()
	w.settings = settings
	w.write(w.config(), "http")
	w.http = mcptest.Start(w.t, w.program("http", "-c", w.config(), "--port", "0"))
	w.http.Listening()
}

// startStdio starts the gateway on stdio, with its own config file.
func (w *world) startStdio() {
	w.t.Helper()
	path := filepath.Join(w.dir, "stdio.json")
	w.write(path, "stdio")
	w.onStdio = mcptest.StartStdio(w.t, w.program("stdio", "-c", path))
}

// reload writes the settings again and makes the gateway read them.
func (w *world) reload() {
	w.t.Helper()
	w.write(w.config(), "http")
	if status, body := w.api("admin", http.MethodPost, "reload", nil); status != http.StatusOK {
		w.t.Fatalf("reload: %d %s", status, body)
	}
}

// reloadStdio reloads the gateway on stdio, with a signal.
func (w *world) reloadStdio() {
	w.t.Helper()
	w.write(filepath.Join(w.dir, "stdio.json"), "stdio")
	w.onStdio.Signal(syscall.SIGHUP)
}

// stop stops both gateways, so that they and their servers write all records.
func (w *world) stop() {
	if w.release != nil {
		w.release()
	}
	w.client.CloseIdleConnections()
	w.http.Stop()
	if w.onStdio != nil {
		w.onStdio.Stop()
	}
}

// do sends one HTTP request and reads the response. A failure has status 0.
func (w *world) do(method, path, as string, header http.Header, body []byte) (status int, h http.Header, text []byte) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	resp, err := w.send(ctx, method, path, as, header, body)
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	return resp.StatusCode, resp.Header, text
}

func (w *world) send(ctx context.Context, method, path, as string, header http.Header, body []byte) (*http.Response, error) {
	return w.sendBy(&w.client, ctx, method, path, as, header, body)
}

func (w *world) sendBy(client *http.Client, ctx context.Context, method, path, as string, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.http.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	if as != "" {
		req.Header.Set("Authorization", "Bearer "+w.keys[as].secret)
	}
	return client.Do(req)
}

// api uses the console's JSON API with a key.
func (w *world) api(as, method, path string, body any) (status int, text string) {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			w.t.Fatal(err)
		}
	}
	status, _, answer := w.do(method, "/api/v1/"+path, as, http.Header{"X-Mcp-Aio": {"1"}, "Content-Type": {"application/json"}}, raw)
	return status, strings.TrimSpace(string(answer))
}

// until calls so until it returns true. Each call makes a request to another
// process, which takes the time.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !so(); {
		if time.Now().After(end) {
			w.t.Fatalf("%s: not after %v", what, patience)
		}
	}
}
