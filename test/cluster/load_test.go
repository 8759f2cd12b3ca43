package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/balancers"
	"mcp-all-in-one/test/figures"
)

// behindBalancer has the settings that a gateway needs behind a balancer.
const behindBalancer = `"access":{"key":"the-key-of-everyone-in-this-load"},"server":{"hosts":["127.0.0.1"]},`

// known returns a client with the key of behindBalancer.
func known(t *testing.T, url string) *mcptest.RawHTTP {
	c := mcptest.NewRawHTTP(t, url)
	c.Header.Set("Authorization", "Bearer the-key-of-everyone-in-this-load")
	return c
}

// A tally counts the outcomes of the calls of a load.
type tally struct {
	mu      sync.Mutex
	ok      int
	served  []int          // calls answered, by client
	lost    map[string]int // by what the client was told
	wrong   []string       // errors that must never happen
	outages []time.Duration
	dying   atomic.Bool // a replica was killed, and the kernel has not ended it yet
	late    int         // calls that began in that time, and whose connection to it broke
}

func (y *tally) String() string {
	slices.Sort(y.outages)
	lost, by := 0, map[string]int{} // summary of what clients were told: a reason, or a status
	for what, n := range y.lost {
		lost += n
		short, _, _ := strings.Cut(what, ": ")
		short, _, _ = strings.Cut(short, " <")
		by[short] += n
	}
	out := fmt.Sprintf("%d calls answered, %d lost", y.ok, lost)
	if lost > 0 {
		out += fmt.Sprintf(" (%s)", strings.Trim(fmt.Sprint(by), "map[]"))
	}
	if n := len(y.outages); n > 0 {
		out += fmt.Sprintf(", served again after %v (median), %v (worst)", y.outages[n/2].Round(time.Millisecond), y.outages[n-1].Round(time.Millisecond))
	}
	return out
}

// A kind describes the calls of a load.
type kind struct {
	tool string
	size int // of the response, without its token
}

// asks reports whether a call asks the client something.
func (k kind) asks() bool { return strings.Contains(k.tool, "__ask") }

// plain calls only answer; those to once reach a server that runs once; mixed ones
// also report progress, ask, and return large results.
var (
	plain = func(int) kind { return kind{tool: "back__echo"} }
	once  = func(int) kind { return kind{tool: "once__echo"} }
	mixed = func(id int) kind {
		switch {
		case id%50 == 7:
			return kind{tool: "back__ask"}
		case id%100 == 71:
			return kind{tool: "old__ask_name"} // it waits at its replica for the answer
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

// load lets clients call until stop is closed; every second client is modern.
// Each client keeps its session, whatever happens.
func load(t *testing.T, base string, clients int, of func(id int) kind, stop <-chan struct{}, wg *sync.WaitGroup) *tally {
	t.Helper()
	y := &tally{lost: map[string]int{}, served: make([]int, clients)}
	nth := loads.Add(1) // a cluster may run several loads in turn
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
				if k.asks() && i%2 == 0 {
					k.tool = "back__step" // a legacy client would have to read a stream
				}
				token := fmt.Sprintf("load-%d-client-%d-call-%d", nth, i, id)
				began, dying := time.Now(), y.dying.Load()
				what, wrong := one(c, k, i%2 == 1, id, token)
				y.mu.Lock()
				switch {
				case wrong:
					y.wrong = append(y.wrong, token+": "+what)
				case what != "":
					y.lost[what]++
					if dying && atKilled(what) {
						y.late++
					}
					if down.IsZero() {
						down = began
					}
				default:
					y.ok++
					y.served[i]++
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

// atKilled reports whether a client was told that the connection to the replica that
// the balancer chose broke. One that lives would have answered.
func atKilled(what string) bool {
	return strings.HasPrefix(what, "broken ") || strings.HasPrefix(what, fmt.Sprint(http.StatusBadGateway, " "))
}

// one makes one call; what is empty if the call succeeded.
func one(c *mcptest.RawHTTP, k kind, isModern bool, id int, token string) (what string, wrong bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	want := token + strings.Repeat("x", k.size)
	m, what, wrong := post(ctx, c, k, isModern, id, token, "")
	if k.asks() && what == "" {
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
		if want += " Ada"; k.tool == "old__ask_name" {
			want = "Hello, Ada!"
		}
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

// ports matches the ports that make equal errors of a balancer look different.
var ports = regexp.MustCompile(`:\d+`)

// post sends one request of a call.
func post(ctx context.Context, c *mcptest.RawHTTP, k kind, isModern bool, id int, token, more string) (m mcptest.Message, what string, wrong bool) {
	meta := ""
	if isModern {
		c.Header.Set("Mcp-Name", k.tool)
		meta = fmt.Sprintf(`,"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`, modern)
	}
	reply, err := c.Try(ctx, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"token":%q,"message":%[3]q,"size":%[4]d}%[5]s,"_meta":{"progressToken":%[1]d%[6]s}}}`, id, k.tool, token, k.size, more, meta))
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

// judge checks the outcomes for errors that must never happen.
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

// TestKilled kills replicas under load: no responses are mixed up, nothing runs
// twice, no session ends, and all clients are served again at once. A call that
// was on its way to the killed replica is lost; it has run once or not at all.
func TestKilled(t *testing.T) {
	for id, b := range map[string]balancers.Balancer{"T45": balancers.HAProxy(t), "T45n": balancers.Nginx(t)} {
		t.Run("fault/T45/"+b.Name, func(t *testing.T) {
			c := start(t, 3, options{members: true, access: behindBalancer})
			killed(t, id, c, b, plain, figures.Size(3, 14), figures.Size(16, 60), 0)
		})
	}
	t.Run("fault/T37", func(t *testing.T) {
		var urls []string
		for _, n := range mcptest.StartNATSCluster(t, 3) {
			urls = append(urls, n.URL)
		}
		c := start(t, 3, options{section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":["%s"]}`, strings.Join(urls, `","`)), access: behindBalancer})
		for _, r := range c.replicas {
			r.sees("a ready, b ready, c ready")
		}
		learnToAsk(t, c.replicas[0])
		killed(t, "T37", c, balancers.HAProxy(t), mixed, figures.Size(3, 20), figures.Size(16, 200), figures.Size(0, 200_000))
	})
}

// learnToAsk lets a legacy server ask a client. After that the replicas give each
// call of it a connection of its own.
func learnToAsk(t *testing.T, r *replica) {
	t.Helper()
	const key, tool = "the-key-of-everyone-in-this-load", "old__ask_name"
	wants(t, modernAs(t, r, key, tool, accepted(t, modernAs(t, r, key, tool, ""))), "Ada")
}

// killed kills one replica after the other while clients call, until both kills
// and calls are reached.
func killed(t *testing.T, id string, c *cluster, b balancers.Balancer, of func(int) kind, kills, clients, calls int) {
	t.Helper()
	base := b.Start(t, c.ports())
	stop := make(chan struct{})
	var wg sync.WaitGroup
	y := load(t, base, clients, of, stop, &wg)
	answered := func() int { y.mu.Lock(); defer y.mu.Unlock(); return y.ok }
	done := 0
	for ; done < kills || answered() < calls; done++ {
		before := answered()
		await(t, "calls are answered", func() bool { return answered() > before+20*clients })
		r := c.replicas[done%3]
		y.dying.Store(true)
		r.kill()
		y.dying.Store(false)
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
	// A client has one call at a time, and loses at most the one that was on its
	// way when the replica was killed, and one that it sends to that replica while
	// the kernel closes its connections, one after the other.
	lost := 0
	for _, n := range y.lost {
		lost += n
	}
	if lost-y.late > done*clients || y.late > done*clients {
		t.Errorf("%d clients lost %d calls with %d kills, %d of them sent before the replica was gone", clients, lost, done, y.late)
	}
	slices.Sort(y.outages)
	if n := len(y.outages); n > 0 && y.outages[n*99/100] > 2*time.Second {
		t.Errorf("99 of 100 clients were served again after %v", y.outages[n*99/100])
	}
	figures.Report(t, id, "3 replicas behind %s, %d kills, %d clients, half of them modern: 0 crossed, 0 run twice, %v", b.Name, done, clients, y)
}

// TestRolling restarts all replicas, one after the other, under load: no call
// fails and no session ends. A balancer without health checks notices only that
// connections are refused.
func TestRolling(t *testing.T) {
	for _, o := range []struct {
		id, delay string
		balancer  balancers.Balancer
	}{{"T46", "5s", balancers.HAProxy(t)}, {"T46n", "0s", balancers.Nginx(t)}} {
		t.Run("fault/T46/"+o.delay, func(t *testing.T) {
			c := start(t, 3, options{members: true, section: fmt.Sprintf(`,"drainDelay":%q`, o.delay), access: behindBalancer})
			y := rolling(t, c, o.balancer.Start(t, c.ports()), plain, figures.Size(1, 10), 12, figures.Size(10, 100))
			figures.Report(t, o.id, "%d restarts with a delay of %s behind %s, 12 clients, %d idle sessions: %v, 0 sessions ended", figures.Size(3, 30), o.delay, o.balancer.Name, figures.Size(10, 100), y)
		})
	}
}

// everyone waits until each client has got one more response. A client that
// could not connect to a stopped replica retries a second later; the next
// replica must not stop before that.
func (y *tally) everyone(t *testing.T) {
	t.Helper()
	served := func() []int { y.mu.Lock(); defer y.mu.Unlock(); return slices.Clone(y.served) }
	before := served()
	await(t, "everyone is answered", func() bool {
		for i, n := range served() {
			if n == before[i] {
				return false
			}
		}
		return true
	})
}

// rolling restarts all replicas several times, while clients call and sessions
// are idle. No call is lost.
func rolling(t *testing.T, c *cluster, base string, of func(int) kind, rounds, clients, idle int) *tally {
	t.Helper()
	var sleepers []*mcptest.RawHTTP
	for i := range idle {
		s := known(t, c.replicas[i%3].url())
		s.Initialize(legacy, `{}`)
		sleepers = append(sleepers, s)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	y := load(t, base, clients, of, stop, &wg)
	for range rounds {
		for _, r := range c.replicas {
			r.Signal(syscall.SIGTERM)
			if code := r.Wait(60 * time.Second); code != 0 {
				t.Errorf("replica %s ended with %d", r.name, code)
			}
			r.start()
			r.ready()
			y.everyone(t)
		}
	}
	close(stop)
	wg.Wait()
	y.judge(t, c.back)
	for what, n := range y.lost {
		t.Errorf("lost %d calls: %s", n, what)
	}
	for i, s := range sleepers {
		s.URL = base + "/mcp"
		wants(t, s.Post(call(i, "back__echo", fmt.Sprint("sleeper ", i))).Answer(t), fmt.Sprint("sleeper ", i))
	}
	return y
}

func TestMain(m *testing.M) { os.Exit(figures.Run(m)) }
