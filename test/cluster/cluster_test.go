// Package cluster runs several gateways as a cluster, with the real binary, and
// checks what clients are promised.
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// A backend is an HTTP server that all replicas use. It knows which tokens it
// ran.
type backend struct {
	url     string
	started chan string   // tokens of wait
	release chan struct{} // ends wait
	ended   chan string   // tokens of cancelled waits
	mu      sync.Mutex
	ran     map[string]int
}

func newBackend(t testing.TB) *backend {
	t.Helper()
	b := &backend{started: make(chan string, 100), ended: make(chan string, 100), release: make(chan struct{}), ran: map[string]int{}}
	s := mcpserver.New("back")
	tool := func(name string, run func(ctx context.Context, c *mcpserver.Call, token string) (any, error)) mcpserver.Tool {
		return mcpserver.Tool{Definition: fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name), Run: func(ctx context.Context, c *mcpserver.Call) (any, error) {
			var args struct{ Token string }
			if err := c.Bind(&args); err != nil {
				return nil, err
			}
			return run(ctx, c, args.Token)
		}}
	}
	s.SetTools(
		tool("echo", func(_ context.Context, _ *mcpserver.Call, token string) (any, error) {
			b.note(token)
			return mcpserver.Text("%s", token), nil
		}),
		tool("step", func(ctx context.Context, c *mcpserver.Call, token string) (any, error) {
			b.note(token)
			c.Progress(ctx, 1, 2, "stepping")
			return mcpserver.Text("%s", token), nil
		}),
		tool("large", func(_ context.Context, c *mcpserver.Call, token string) (any, error) {
			var args struct{ Size int }
			if err := c.Bind(&args); err != nil {
				return nil, err
			}
			b.note(token)
			return mcpserver.Text("%s%s", token, strings.Repeat("x", args.Size)), nil
		}),
		tool("wait", func(ctx context.Context, c *mcpserver.Call, token string) (any, error) {
			b.note(token)
			c.Progress(ctx, 1, 2, "waiting")
			b.started <- token
			select {
			case <-b.release:
				return mcpserver.Text("%s", token), nil
			case <-ctx.Done():
				b.ended <- token
				return nil, context.Cause(ctx)
			}
		}),
		tool("ask", func(ctx context.Context, c *mcpserver.Call, token string) (any, error) {
			answer, err := c.Ask(ctx, "name", "elicitation/create", map[string]any{"message": "Who?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
			if err != nil {
				return nil, err
			}
			var said struct{ Content struct{ Name string } }
			if err := json.Unmarshal(answer, &said); err != nil {
				return nil, err
			}
			return mcpserver.Text("%s %s", token, said.Content.Name), nil
		}),
	)
	handler, stop := s.HTTP("")
	front := httptest.NewServer(handler)
	t.Cleanup(func() { close(b.release); front.Close(); stop() })
	b.url = front.URL + "/mcp"
	return b
}

func (b *backend) note(token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ran[token]++
}

// A replica is one gateway of a cluster.
type replica struct {
	*mcptest.Process
	t          testing.TB
	name       string
	port, peer string
	config     string
	home       string
	path       string // of the binary; empty for the one built from this source
	args, env  []string
}

// A cluster is a set of gateways that share a secret.
type cluster struct {
	replicas []*replica
	back     *backend
}

// options change what start starts.
type options struct {
	secret  string
	access  string // of the section access
	members bool
	section string // more of the section cluster
	servers string // more servers
	path    string // of a binary not built from this source
	// between returns the address under which the others find a replica, and
	// more settings for its section cluster; nil for the port itself and no
	// settings.
	between func(i int, peer string) (advertise, section string)
	// alter changes a replica and the text of its file before it starts; nil for
	// no change.
	alter func(i int, r *replica, text string) string
}

const secret = "a secret of thirty-two bytes or more"

// besideOthers lets a test run at the same time as others, because most of its
// time it waits for records to expire. With TORTURE=full it runs alone, for its
// figures.
func besideOthers(t *testing.T) {
	if !figures.Full() {
		t.Parallel()
	}
}

// start runs n replicas with one backend.
func start(t testing.TB, n int, o options) *cluster {
	t.Helper()
	c := &cluster{back: newBackend(t)}
	if o.secret == "" {
		o.secret = strings.ReplaceAll(secret, " ", "-")
	}
	if !strings.Contains(o.section, "drainDelay") {
		o.section += `,"drainDelay":"0s"` // there is no balancer that has to notice the end
	}
	var ports []string
	for range 2 * n {
		ports = append(ports, mcptest.FreePort(t))
	}
	members := ""
	if o.members {
		members = `,"members":["127.0.0.1:` + strings.Join(ports[n:], `","127.0.0.1:`) + `"]`
	}
	for i := range n {
		r := &replica{t: t, name: string(rune('a' + i)), port: ports[i], peer: "127.0.0.1:" + ports[n+i], home: t.TempDir(), path: o.path}
		advertise, own := r.peer, ""
		if o.between != nil {
			advertise, own = o.between(i, r.peer)
		}
		text := fmt.Sprintf(`{"cluster":{"name":"test","node":%q,"peer":%q,"advertise":%q,"secret":%q%s%s},%s"logging":{"level":"debug"},
			"mcpServers":{"back":{"type":"http","url":%q},"demo":{"command":%q,"place":"each"},"old":{"command":%[9]q,"args":["-era","legacy"],"place":"each"}%[10]s}}`,
			r.name, r.peer, advertise, o.secret, members, o.section+own, o.access, c.back.url, mcptest.Build(t), o.servers)
		if o.alter != nil {
			text = o.alter(i, r, text)
		}
		r.config = filepath.Join(r.home, "mcp.json")
		if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.replicas = append(c.replicas, r)
	}
	var all sync.WaitGroup
	for _, r := range c.replicas {
		r.start()
		all.Go(r.ready)
	}
	all.Wait()
	return c
}

// start starts or restarts the replica.
func (r *replica) start() {
	r.t.Helper()
	r.Process = mcptest.Start(r.t, mcptest.Program{
		Path: cmp.Or(r.path, mcptest.BuildProduct(r.t)), Args: append([]string{"http", "--mcp-config", r.config, "--port", r.port}, r.args...),
		Env: append([]string{"HOME=" + r.home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="}, r.env...),
	})
	r.Listening()
}

// ready waits until the replica is connected to its servers.
func (r *replica) ready() {
	await(r.t, "replica "+r.name+" is ready", func() bool {
		resp, err := http.Get("http://127.0.0.1:" + r.port + "/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// kill kills the replica.
func (r *replica) kill() {
	r.t.Helper()
	if err := mcptest.Kill(r.PID()); err != nil {
		r.t.Fatal(err)
	}
	r.Wait(10 * time.Second)
}

// url returns the MCP endpoint of the replica.
func (r *replica) url() string { return "http://127.0.0.1:" + r.port + "/mcp" }

// await polls ok every few milliseconds, for a limited time.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Errorf("%s: not within a minute", what)
			return
		}
	}
}

// client returns a legacy session opened at one replica.
func client(t testing.TB, r *replica, capabilities string) *mcptest.RawHTTP {
	t.Helper()
	c := mcptest.NewRawHTTP(t, r.url())
	if m := c.Initialize(legacy, capabilities); m.Error != nil {
		t.Fatalf("initialize: %+v", m.Error)
	}
	return c
}

// at sends the next requests of a client to another replica.
func at(c *mcptest.RawHTTP, r *replica) *mcptest.RawHTTP {
	c.URL = r.url()
	return c
}

// call returns the line of a tool call.
func call(id int, tool, token string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"token":%q},"_meta":{"progressToken":%d}}}`, id, tool, token, id)
}

// wants fails unless the response contains text.
func wants(t testing.TB, m mcptest.Message, text string) {
	t.Helper()
	if m.Error != nil || !strings.Contains(string(m.Result), text) {
		t.Errorf("answered %.300s, want %q", m.Raw, text)
	}
}
