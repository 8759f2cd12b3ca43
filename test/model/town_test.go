package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcptest"
)

// patience is the time limit of every step.
const patience = 60 * time.Second

// A town is one gateway that runs for all inputs, with a recorder behind each
// server, and keys of all kinds.
type town struct {
	f         testing.TB
	dir       string
	gateway   *mcptest.Process
	client    http.Client
	recorders map[string]*recorder
	secrets   map[string]string
	next      int
}

// places are the possible servers and their schemas.
var places = []struct{ name, schema string }{{"a", "default"}, {"b", "default"}, {"a", "second"}, {"c", "second"}}

// bounds are the restrictions of keys; ownModes are their possible modes.
var (
	bounds = [][]string{
		nil, {"server:a"}, {"server:b", "server:c"}, {"server:*"}, {"schema:second"}, {"schema:default", "server:a"}, {"tool:echo"}, {"tool:a/echo"}, {"tool:a/*"},
		{"tool:*/a/echo"}, {"tool:l*", "tool:b/echo"}, {"readonly"}, {"readonly", "server:b"}, {"readonly", "tool:echo"}, {"server:a", "tool:b/*"}, {"admin"}, {"admin", "server:a"},
	}
	ownModes = []string{"", "full", "compact", "code"}
)

// holders are all principals: each restriction in each mode, and last one with
// an invalid key.
var holders = func() (list []*holder) {
	for _, bound := range bounds {
		for _, mode := range ownModes {
			scopes := bound
			if mode != "" {
				scopes = append([]string{"mode:" + mode}, bound...)
			}
			list = append(list, &holder{fmt.Sprint("key", len(list)), true, scopes})
		}
	}
	return append(list, &holder{name: "nobody"})
}()

func newTown(f testing.TB) *town {
	f.Helper()
	dir, err := os.MkdirTemp("", "model") // the path of a socket in it has to be short
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { os.RemoveAll(dir) })
	w := &town{f: f, dir: dir, recorders: map[string]*recorder{}, secrets: map[string]string{"nobody": "aio_nobody"}}
	for _, p := range places {
		r := newRecorder(p.name)
		f.Cleanup(r.Close)
		w.recorders[p.schema+"/"+p.name] = r
	}
	store, err := access.OpenKeys(filepath.Join(dir, "keys.json"), nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, h := range append(holders, &holder{"chief", true, []string{"admin"}}) {
		if !h.known {
			continue
		}
		grant, err := access.ParseScopes(h.scopes)
		if err != nil {
			f.Fatal(err)
		}
		if w.secrets[h.name], _, err = store.Create(h.name, grant, nil); err != nil {
			f.Fatal(err)
		}
	}
	w.write(&setting{mode: "full"})
	w.gateway = mcptest.Start(f, mcptest.Program{
		Path: mcptest.BuildProduct(f), Args: []string{"http", "-c", w.config(), "--port", "0", "--log-level", "error"}, Dir: dir,
		Env: []string{"HOME=" + dir, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "LANG=C", "LC_ALL=C"},
	})
	w.gateway.Listening()
	w.decline()
	return w
}

func (w *town) config() string { return filepath.Join(w.dir, "mcp.json") }

// write writes the config file of a setting.
func (w *town) write(c *setting) {
	schemas := map[string]any{}
	for _, name := range []string{"default", "second"} {
		servers := map[string]any{}
		for _, s := range c.servers {
			if s.schema == name {
				servers[s.name] = w.entry(s)
			}
		}
		schemas[name] = map[string]any{"mcpServers": servers}
	}
	data, err := json.MarshalIndent(map[string]any{
		"mode": c.mode, "schemas": schemas, "access": map[string]any{"keys": filepath.Join(w.dir, "keys.json")},
	}, "", "  ")
	if err != nil {
		w.f.Fatal(err)
	}
	if err := os.WriteFile(w.config(), data, 0o600); err != nil {
		w.f.Fatal(err)
	}
}

func (w *town) entry(s *server) map[string]any {
	policies := map[string]map[string]any{}
	for _, t := range tools {
		p := map[string]any{}
		if s.toolOff[t] {
			p["enabled"] = false
		} else if s.toolOn[t] {
			p["enabled"] = true
		}
		if s.toolAsk[t] {
			p["ask"] = true
		}
		if len(p) > 0 {
			policies[t] = p
		}
	}
	e := map[string]any{"url": w.recorders[s.schema+"/"+s.name].URL, "type": "http", "enabled": !s.off}
	if len(policies) > 0 {
		e["tools"] = policies
	}
	if len(s.allow) > 0 {
		e["allow"] = s.allow
	}
	if len(s.deny) > 0 {
		e["deny"] = s.deny
	}
	if s.promptOff {
		e["prompts"] = map[string]any{prompt: map[string]any{"enabled": false}}
	}
	if s.resourceOff {
		e["resources"] = map[string]any{"memo://" + s.name: map[string]any{"enabled": false}}
	}
	return e
}

// apply makes the gateway load a setting, and waits until its servers answer.
func (w *town) apply(t *testing.T, c *setting) {
	t.Helper()
	w.write(c)
	if status, body := w.api(t, "chief", http.MethodPost, "reload", nil); status != http.StatusOK {
		t.Fatalf("reload: %d %s", status, body)
	}
	for end := time.Now().Add(patience); ; {
		status, _, _ := w.do(t, http.MethodGet, "/ready", "", nil, nil)
		if status == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the servers do not start")
		}
	}
	for _, r := range w.recorders {
		r.taken()
	}
}

// decline declines every question, as a separate administrator.
func (w *town) decline() {
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := w.send(ctx, http.MethodGet, "/api/v1/events?topics=inbox", "chief", nil, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		cancel()
		w.f.Fatalf("following the inbox: %v %v", resp, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		events := mcptest.NewEvents(resp.Body)
		for e := events.Next(); e != nil; e = events.Next() {
			w.sayNo(ctx)
		}
	}()
	w.f.Cleanup(func() { cancel(); resp.Body.Close(); <-done })
}

func (w *town) sayNo(ctx context.Context) {
	status, _, body := w.ask(ctx, http.MethodGet, "/api/v1/inbox", "chief", nil, nil)
	var list []struct{ ID string }
	if status != http.StatusOK || json.Unmarshal(body, &list) != nil {
		return // a call without an answer fails later
	}
	for _, q := range list {
		w.ask(ctx, http.MethodPost, "/api/v1/inbox/"+q.ID, "chief", changing, []byte(`{"action":"decline"}`))
	}
}

var changing = http.Header{"X-Mcp-Aio": {"1"}, "Content-Type": {"application/json"}}

func (w *town) api(t *testing.T, as, method, path string, body any) (int, string) {
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	status, _, text := w.do(t, method, "/api/v1/"+path, as, changing, raw)
	return status, string(text)
}

func (w *town) do(t *testing.T, method, path, as string, h http.Header, body []byte) (int, http.Header, []byte) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return w.ask(ctx, method, path, as, h, body)
}

// ask sends a request and reads the response; a failure has status 0.
func (w *town) ask(ctx context.Context, method, path, as string, h http.Header, body []byte) (int, http.Header, []byte) {
	resp, err := w.send(ctx, method, path, as, h, body)
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	return resp.StatusCode, resp.Header, bytes.TrimSpace(text)
}

func (w *town) send(ctx context.Context, method, path, as string, h http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.gateway.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = h.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if as != "" {
		req.Header.Set("Authorization", "Bearer "+w.secrets[as])
	}
	return w.client.Do(req)
}

// reached returns the requests that the servers got, with the server.
func (w *town) reached() (list []string) {
	for at, r := range w.recorders {
		for _, h := range r.taken() {
			list = append(list, at+" "+h)
		}
	}
	return list
}

func (s *server) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s off=%v allow=%v deny=%v toolOff=%v toolOn=%v ask=%v promptOff=%v resourceOff=%v", s.schema, s.name, s.off, s.allow, s.deny, s.toolOff, s.toolOn, s.toolAsk, s.promptOff, s.resourceOff)
	return b.String()
}
