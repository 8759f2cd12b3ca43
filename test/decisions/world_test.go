package decisions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// patience is how long anything here may take.
const patience = 30 * time.Second

// A world is one configuration with everything that uses it: a gateway over
// HTTP, one on stdio, and keys.
type world struct {
	t    *testing.T
	dir  string // home, config, journal and audit trails
	http *mcptest.Process
	// onStdio is a second gateway with the same configuration; nil where the
	// world has none.
	onStdio *mcptest.RawStdio

	settings map[string]any // the config file
	keys     map[string]key
	client   http.Client
	lines    int // sent on stdio
	mu       sync.Mutex
	pulses   map[string]*pulse
	// greeted says that the session on stdio is open.
	greeted bool
	// control says that the world has no decision in it.
	control bool
	// release ends what drain holds.
	release func()
}

// A key is what a client shows, and who it is then.
type key struct{ secret, principal string }

// entry is the config entry of a recorder.
func (w *world) entry(name string, more map[string]any) map[string]any {
	env := map[string]any{envJournal: w.journal(), envName: name}
	entry := map[string]any{"command": own(w.t), "env": env}
	for k, v := range more {
		if k == envOrders {
			env[envOrders] = v
			continue
		}
		entry[k] = v
	}
	return entry
}

// own is the path of this test binary, which is also the server.
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

// newWorld prepares a folder with keys. The home is not t.TempDir: the path of
// a socket in it has to be short.
func newWorld(t *testing.T, grants map[string][]string) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "dec")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{t: t, dir: dir, keys: map[string]key{}, pulses: map[string]*pulse{}}
	store, err := access.OpenKeys(filepath.Join(dir, "keys.json"))
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

// write writes the config file with the settings, and with what differs.
func (w *world) write(path, trail string) {
	w.t.Helper()
	all := maps.Clone(w.settings)
	all["access"] = map[string]any{"keys": filepath.Join(w.dir, "keys.json")}
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

// startStdio starts the gateway on stdio, with a config file of its own.
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

// reloadStdio does the same for the gateway on stdio, by a signal.
func (w *world) reloadStdio() {
	w.t.Helper()
	w.write(filepath.Join(w.dir, "stdio.json"), "stdio")
	w.onStdio.Signal(syscall.SIGHUP)
}

// stop ends both gateways, so that all is written that they and their servers
// have to write.
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

// do sends one HTTP request and reads the answer. A failure is an answer with
// status 0.
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
	req, err := http.NewRequestWithContext(ctx, method, w.http.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	if as != "" {
		req.Header.Set("Authorization", "Bearer "+w.keys[as].secret)
	}
	return w.client.Do(req)
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

// until asks again and again until it is so. Each time is a request to another
// process, which is what takes the time.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !so(); {
		if time.Now().After(end) {
			w.t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

// A pulse is the event stream of one key: next is closed by the next event, and
// another made.
type pulse struct {
	mu   sync.Mutex
	next chan struct{}
}

func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.next)
	p.next = make(chan struct{})
}

func (p *pulse) wait() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}

func (w *world) pulse(as string) *pulse {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pulses[as]
	if p == nil {
		p = &pulse{next: make(chan struct{})}
		w.pulses[as] = p
		w.events(as, "bench,tests,inbox", func(*mcptest.Event) { p.beat() })
	}
	return p
}

// untilEvent looks at something whenever a key hears of an event, until it is
// so.
func (w *world) untilEvent(as, what string, so func() bool) {
	w.t.Helper()
	p := w.pulse(as)
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for next := p.wait(); !so(); next = p.wait() {
		select {
		case <-next:
		case <-ctx.Done():
			w.t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

// events follows topics of the event stream with a key, and calls hear for
// each event until the world ends, and with nil at the end of the stream.
func (w *world) events(as, topics string, hear func(e *mcptest.Event)) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	resp, err := w.send(ctx, http.MethodGet, "/api/v1/events?topics="+topics, as, nil, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		cancel()
		w.t.Fatalf("following %s: %v %v", topics, resp, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		events := mcptest.NewEvents(resp.Body)
		for e := events.Next(); e != nil; e = events.Next() {
			hear(e)
		}
		hear(nil)
	}()
	w.t.Cleanup(func() {
		cancel()
		resp.Body.Close()
		<-done
	})
}

// decline says no, as the administrator, to every question in the inbox.
func (w *world) decline() {
	w.events("admin", "inbox", func(e *mcptest.Event) {
		if e == nil {
			return
		}
		for _, id := range w.questions("admin") {
			w.api("admin", http.MethodPost, "inbox/"+id, map[string]any{"action": "decline"})
		}
	})
}

// questions are the ids of what waits in the inbox, as a key sees it.
func (w *world) questions(as string) (ids []string) {
	status, body := w.api(as, http.MethodGet, "inbox", nil)
	var list []struct{ ID string }
	if status != http.StatusOK || json.Unmarshal([]byte(body), &list) != nil {
		return nil
	}
	for _, q := range list {
		ids = append(ids, q.ID)
	}
	return ids
}

// An entry is one line of the record, or of the audit trail.
type entry struct {
	Start                                    time.Time `json:"start"`
	Time                                     time.Time `json:"time"`
	Principal, Door, Server, Tool, Name      string
	Method, Status, Outcome, Reason, Session string
	Hop                                      string
}

func (e entry) String() string {
	tool := e.Tool
	if tool == "" {
		tool = e.Name
	}
	return fmt.Sprintf("{principal %q door %q server %q tool %q method %q %s reason %q}", e.Principal, e.Door, e.Server, tool, e.Method, e.Status+e.Outcome, e.Reason)
}

// record reads the whole record, as the administrator.
func (w *world) record() []entry {
	w.t.Helper()
	status, body := w.api("admin", http.MethodGet, "traffic?limit=1000", nil)
	var page struct{ Calls []entry }
	if status != http.StatusOK || json.Unmarshal([]byte(body), &page) != nil {
		w.t.Fatalf("reading the record: %d %s", status, body)
	}
	return page.Calls
}

// trail reads the audit trails.
func (w *world) trail() (list []entry) {
	w.t.Helper()
	for _, name := range []string{"http", "stdio"} {
		data, err := os.ReadFile(w.audit(name))
		if err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var e entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				w.t.Fatalf("audit trail: %v in %s", err, line)
			}
			e.Start = e.Time
			list = append(list, e)
		}
	}
	return list
}
