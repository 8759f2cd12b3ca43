package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// balance puts a round-robin balancer in front of the replicas and returns its
// address: the program that HAPROXY names, with the file that we ship for it,
// else one of our own that does the same. It sends nothing again that it has
// sent.
func balance(t *testing.T, c *cluster) string {
	t.Helper()
	if path := os.Getenv("HAPROXY"); path != "" {
		return shipped(t, c, "haproxy.cfg", func(config string) *exec.Cmd { return exec.Command(path, "-db", "-f", config) })
	}
	if os.Getenv("NGINX") != "" {
		return balanceBlind(t, c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	up := make([]atomic.Bool, len(c.replicas))
	var checks sync.WaitGroup
	for i, r := range c.replicas {
		checks.Go(func() { check(ctx, r, &up[i]) })
	}
	t.Cleanup(func() { cancel(); checks.Wait() })
	return roundRobin(t, c, up)
}

// balanceBlind is a balancer that does not ask replicas whether they take
// requests: the program that NGINX names, or one of our own.
func balanceBlind(t *testing.T, c *cluster) string {
	t.Helper()
	if path := os.Getenv("NGINX"); path != "" {
		return shipped(t, c, "nginx.conf", func(config string) *exec.Cmd {
			cmd := exec.Command(path, "-c", config, "-p", filepath.Dir(config))
			cmd.Env = append(os.Environ(), "NGINX=") // which it would read as its sockets
			return cmd
		})
	}
	up := make([]atomic.Bool, len(c.replicas))
	for i := range up {
		up[i].Store(true)
	}
	return roundRobin(t, c, up)
}

// roundRobin sends each request to the next replica that is up.
func roundRobin(t *testing.T, c *cluster, up []atomic.Bool) string {
	t.Helper()
	var turn atomic.Int64
	transport := &http.Transport{DisableKeepAlives: true} // a kept connection may be to one that is gone
	next := func() *url.URL {
		for range 2 * len(c.replicas) {
			if i := int(turn.Add(1)) % len(c.replicas); up[i].Load() {
				return &url.URL{Scheme: "http", Host: "127.0.0.1:" + c.replicas[i].port}
			}
		}
		return &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Transport: redispatch{transport, next},
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(next()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	for i := range up {
		await(t, "the balancer knows all replicas", up[i].Load)
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	return front.URL
}

// check asks a replica again and again whether it takes requests.
func check(ctx context.Context, r *replica, up *atomic.Bool) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := client.Get("http://127.0.0.1:" + r.port + "/ready")
		up.Store(err == nil && resp.StatusCode == http.StatusOK)
		if err == nil {
			resp.Body.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// redispatch sends a request to the next replica when no connection could be
// made.
type redispatch struct {
	*http.Transport
	next func() *url.URL
}

func (d redispatch) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for tries := 0; ; tries++ {
		r.Body = io.NopCloser(bytes.NewReader(body))
		resp, err := d.Transport.RoundTrip(r)
		var dial *net.OpError
		if err == nil || tries == 3 || !errors.As(err, &dial) || dial.Op != "dial" {
			return resp, err
		}
		for i, refused := 0, r.URL.Host; i < 3 && r.URL.Host == refused; i++ {
			r.URL.Host = d.next().Host
		}
	}
}

// shipped runs a balancer with the file that we ship for it, in which the
// addresses are those of the replicas.
func shipped(t *testing.T, c *cluster, file string, command func(config string) *exec.Cmd) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../packaging/deploy/cluster", file))
	if err != nil {
		t.Fatal(err)
	}
	port := freePorts(t, 1)[0]
	config := strings.NewReplacer(
		"bind :8080", "bind 127.0.0.1:"+port, "listen 8080", "listen 127.0.0.1:"+port, "inter 1s", "inter 100",
		"max_fails=1 fail_timeout=1s", "max_fails=0", "worker_processes auto;", "daemon off; pid nginx.pid; error_log stderr crit;", "http {", "http { access_log off;",
	).Replace(string(text))
	for i, r := range c.replicas {
		address := fmt.Sprintf("10.0.0.1%d:3095", i+1)
		if !strings.Contains(config, address) {
			t.Fatalf("%s has no %s", file, address)
		}
		config = strings.ReplaceAll(config, address, "127.0.0.1:"+r.port)
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(path)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() })
	await(t, file+" is served", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "http://127.0.0.1:" + port
}

// behindBalancer is what a gateway needs to be told by a balancer who asks.
const behindBalancer = `"access":{"key":"the-key-of-everyone-in-this-load"},"server":{"hosts":["127.0.0.1"]},`

// known is a client with the key of behindBalancer.
func known(t *testing.T, url string) *mcptest.RawHTTP {
	c := mcptest.NewRawHTTP(t, url)
	c.Header.Set("Authorization", "Bearer the-key-of-everyone-in-this-load")
	return c
}

// A tally is what became of the calls of a load.
type tally struct {
	mu      sync.Mutex
	ok      int
	lost    map[string]int // by what the client was told
	wrong   []string       // what no client may see
	outages []time.Duration
}

func (y *tally) String() string {
	slices.Sort(y.outages)
	out := fmt.Sprintf("%d calls answered, lost %v", y.ok, y.lost)
	if n := len(y.outages); n > 0 {
		out += fmt.Sprintf(", served again after %v (median), %v (worst)", y.outages[n/2].Round(time.Millisecond), y.outages[n-1].Round(time.Millisecond))
	}
	return out
}

// A kind is what a call of a load does.
type kind struct {
	tool string
	size int // of the answer, beside its token
}

// plain calls do nothing but answer; mixed ones also report progress, ask, and
// answer at length.
var (
	plain = func(int) kind { return kind{tool: "back__echo"} }
	mixed = func(id int) kind {
		switch {
		case id%50 == 7:
			return kind{tool: "back__ask"}
		case id%20 == 3:
			return kind{tool: "back__step"}
		case id%100 == 42:
			return kind{"back__large", 1 << 20}
		case id%10 == 5:
			return kind{"back__large", 10 << 10}
		}
		return kind{tool: "back__echo"}
	}
)

// loads counts the loads so far.
var loads atomic.Int64

// load lets clients call until stop is closed, every second one a modern one.
// Each goes on with its session, whatever happens.
func load(t *testing.T, base string, clients int, of func(id int) kind, stop <-chan struct{}, wg *sync.WaitGroup) *tally {
	t.Helper()
	y := &tally{lost: map[string]int{}}
	nth := loads.Add(1) // a cluster may have several in turn
	for i := range clients {
		c := known(t, base+"/mcp")
		if i%2 == 0 {
			c.Initialize(legacy, `{}`)
		} else {
			c.Header.Set("Mcp-Protocol-Version", modern)
			c.Header.Set("Mcp-Method", "tools/call")
		}
		wg.Go(func() {
			var down time.Time
			for id := 0; ; id++ {
				select {
				case <-stop:
					return
				default:
				}
				k := of(id)
				if k.tool == "back__ask" && i%2 == 0 {
					k.tool = "back__step" // a legacy client would have to read a stream
				}
				token := fmt.Sprintf("load-%d-client-%d-call-%d", nth, i, id)
				began := time.Now()
				what, wrong := one(c, k, i%2 == 1, id, token)
				y.mu.Lock()
				switch {
				case wrong:
					y.wrong = append(y.wrong, token+": "+what)
				case what != "":
					y.lost[what]++
					if down.IsZero() {
						down = began
					}
				default:
					y.ok++
					if !down.IsZero() {
						y.outages, down = append(y.outages, time.Since(down)), time.Time{}
					}
				}
				y.mu.Unlock()
			}
		})
	}
	return y
}

// one makes one call; what is empty when it was answered.
func one(c *mcptest.RawHTTP, k kind, isModern bool, id int, token string) (what string, wrong bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	want := token + strings.Repeat("x", k.size)
	m, what, wrong := post(ctx, c, k, isModern, id, token, "")
	if k.tool == "back__ask" && what == "" {
		var asked struct {
			InputRequests map[string]any
			RequestState  string
		}
		if json.Unmarshal(m.Result, &asked) != nil || len(asked.InputRequests) != 1 {
			return "asked: " + m.Raw, true
		}
		for key := range asked.InputRequests {
			more := fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"name":"Ada"}}}`, asked.RequestState, key)
			m, what, wrong = post(ctx, c, k, isModern, id, token, more)
		}
		want += " Ada"
	}
	if what != "" || wrong {
		return what, wrong
	}
	var result struct{ Content []struct{ Text string } }
	if json.Unmarshal(m.Result, &result) != nil || len(result.Content) != 1 || result.Content[0].Text != want {
		return fmt.Sprintf("%.300s", m.Raw), true
	}
	return "", false
}

// ports are what makes the same error of a balancer look different.
var ports = regexp.MustCompile(`:\d+`)

// post sends one request of a call.
func post(ctx context.Context, c *mcptest.RawHTTP, k kind, isModern bool, id int, token, more string) (m mcptest.Message, what string, wrong bool) {
	meta := ""
	if isModern {
		c.Header.Set("Mcp-Name", k.tool)
		meta = fmt.Sprintf(`,"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`, modern)
	}
	reply, err := c.Try(ctx, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"token":%q,"size":%d}%s,"_meta":{"progressToken":%[1]d%[6]s}}}`, id, k.tool, token, k.size, more, meta))
	switch {
	case ctx.Err() != nil:
		return m, "no answer in 30 s", true
	case err != nil:
		return m, "broken connection", false
	case reply.Status == http.StatusBadGateway, reply.Status == http.StatusServiceUnavailable:
		return m, fmt.Sprintf("%d %.200s", reply.Status, strings.TrimSpace(ports.ReplaceAllString(string(reply.Body), ":N"))), false
	case reply.Status != http.StatusOK:
		return m, fmt.Sprintf("%d %.200s", reply.Status, reply.Body), true
	case len(reply.Messages) == 0 || reply.Messages[len(reply.Messages)-1].Method != "":
		return m, "broken stream", false
	}
	m = reply.Messages[len(reply.Messages)-1]
	if string(m.ID) != fmt.Sprint(id) {
		return m, fmt.Sprintf("%.300s", m.Raw), true
	}
	if m.Error != nil {
		var data struct{ Reason string }
		if json.Unmarshal(m.Error.Data, &data) != nil || data.Reason == "" {
			return m, m.Raw, true
		}
		return m, data.Reason + ": " + m.Error.Message, false
	}
	return m, "", false
}

// judge holds what happened to what must never happen.
func (y *tally) judge(t *testing.T, b *backend) {
	t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(y.wrong) > 0 {
		t.Errorf("%d wrong answers, such as %s", len(y.wrong), y.wrong[0])
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var twice []string
	for token, n := range b.ran {
		if n > 1 {
			twice = append(twice, token)
		}
	}
	if len(twice) > 0 {
		t.Errorf("%d calls ran more than once, such as %s", len(twice), twice[0])
	}
}

// TestKilled kills replicas under load: nothing is crossed, nothing runs twice,
// no session ends, and everybody is served again at once. A call
// that was on its way to the replica that ends is lost; it has run once or not
// at all.
func TestKilled(t *testing.T) {
	t.Run("fault/T45", func(t *testing.T) {
		c := start(t, 3, options{members: true, access: behindBalancer})
		killed(t, "T45", c, plain, size(3, 14), size(16, 60), 0)
	})
	t.Run("fault/T37", func(t *testing.T) {
		var urls []string
		for _, n := range mcptest.StartNATSCluster(t, 3) {
			urls = append(urls, n.URL)
		}
		c := start(t, 3, options{section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":["%s"]}`, strings.Join(urls, `","`)), access: behindBalancer})
		for _, r := range c.replicas {
			r.sees("a ready, b ready, c ready")
		}
		killed(t, "T37", c, mixed, size(3, 20), size(16, 200), size(0, 200_000))
	})
}

// killed kills one replica after the other while clients call, at least some
// times, and until so many calls were answered.
func killed(t *testing.T, id string, c *cluster, of func(int) kind, kills, clients, calls int) {
	t.Helper()
	base := balance(t, c)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	y := load(t, base, clients, of, stop, &wg)
	answered := func() int { y.mu.Lock(); defer y.mu.Unlock(); return y.ok }
	done := 0
	for ; done < kills || answered() < calls; done++ {
		before := answered()
		await(t, "calls are answered", func() bool { return answered() > before+20*clients })
		r := c.replicas[done%3]
		r.kill()
		before = answered()
		await(t, "calls are answered without it", func() bool { return answered() > before+20*clients })
		r.start()
		r.ready()
		if t.Failed() {
			break
		}
	}
	close(stop)
	wg.Wait()
	y.judge(t, c.back)
	// A client has one call at a time, so it loses what was on its way when the
	// replica died; rarely the next one too, sent before anybody has noticed.
	lost := 0
	for _, n := range y.lost {
		lost += n
	}
	if lost > done*clients {
		t.Errorf("%d clients lost %d calls with %d kills", clients, lost, done)
	}
	slices.Sort(y.outages)
	if n := len(y.outages); n > 0 && y.outages[n*99/100] > 2*time.Second {
		t.Errorf("99 of 100 clients were served again after %v", y.outages[n*99/100])
	}
	t.Logf("%s: %d kills, %d clients, half of them modern: %v", id, done, clients, y)
}

// TestRolling restarts all replicas, one after the other, under load: no call
// fails and no session ends. A balancer that checks nothing notices only that
// connections are refused.
func TestRolling(t *testing.T) {
	for name, o := range map[string]struct {
		delay   string
		balance func(*testing.T, *cluster) string
		// broken is how many calls a restart may break: to close a listener
		// resets the connection that the kernel took a moment ago.
		broken int
	}{"fault/T46": {"5s", balance, 0}, "fault/T46/unnoticed": {"0s", balanceBlind, 1}} {
		t.Run(name, func(t *testing.T) {
			rounds, clients, idle := 1, 12, 10
			if full {
				rounds, idle = 10, 100
			}
			c := start(t, 3, options{members: true, section: fmt.Sprintf(`,"drainDelay":%q`, o.delay), access: behindBalancer})
			rolling(t, c, o.balance(t, c), rounds, clients, idle, o.broken)
		})
	}
}

// full says that the tests run in full size.
var full = os.Getenv("TORTURE") == "full"

// rolling restarts all replicas some times, while clients call and sessions are
// idle. Each restart may break some connections.
func rolling(t *testing.T, c *cluster, base string, rounds, clients, idle, broken int) {
	t.Helper()
	var sleepers []*mcptest.RawHTTP
	for i := range idle {
		s := known(t, c.replicas[i%3].url())
		s.Initialize(legacy, `{}`)
		sleepers = append(sleepers, s)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	y := load(t, base, clients, plain, stop, &wg)
	for range rounds {
		for _, r := range c.replicas {
			r.Signal(syscall.SIGTERM)
			if code := r.Wait(60 * time.Second); code != 0 {
				t.Errorf("replica %s ended with %d", r.name, code)
			}
			r.start()
			r.ready()
		}
	}
	close(stop)
	wg.Wait()
	y.judge(t, c.back)
	for what, n := range y.lost {
		if !strings.Contains(what, "connection reset") || n > 3*rounds*broken {
			t.Errorf("lost %d calls: %s", n, what)
		}
	}
	for i, s := range sleepers {
		s.URL = base + "/mcp"
		wants(t, s.Post(call(i, "back__echo", fmt.Sprint("sleeper ", i))).Answer(t), fmt.Sprint("sleeper ", i))
	}
	t.Logf("T46: %d restarts, %d clients and %d idle sessions: %v", 3*rounds, clients, idle, y)
}

// size is how much of something a test does, and in full size.
func size(short, long int) int {
	if full {
		return long
	}
	return short
}
