package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"

	agreed "mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// newProxies returns the server of the proxies, with a silent logger: the zero
// value of its type.
func newProxies[M, L any](make func(M, L) *toxiproxy.ApiServer, metrics M) *toxiproxy.ApiServer {
	var silent L
	return make(metrics, silent)
}

// proxy starts a proxy in front of an address.
func proxy(t *testing.T, to string) *toxiproxy.Proxy {
	t.Helper()
	p := toxiproxy.NewProxy(newProxies(toxiproxy.NewServer, toxiproxy.NewMetricsContainer(nil)), "p", "127.0.0.1:0", to)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// mend restarts a stopped proxy at the same address.
func mend(t *testing.T, p *toxiproxy.Proxy) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
}

// poison makes a proxy slow until the returned function is called.
func poison(t *testing.T, p *toxiproxy.Proxy) (heal func()) {
	t.Helper()
	toxic := strings.NewReader(`{"name":"slow","type":"latency","attributes":{"latency":300,"jitter":100}}`)
	if _, err := p.Toxics.AddToxicJson(toxic); err != nil {
		t.Fatal(err)
	}
	return func() { p.Toxics.ResetToxics(t.Context()) }
}

// TestCut cuts the connections between replicas and their engine. Calls that do
// not need those connections succeed, and the replicas agree again by
// themselves.
func TestCut(t *testing.T) {
	server := mcptest.StartNATS(t)
	var engine, peers []*toxiproxy.Proxy
	c, _ := placedWith(t, "", options{between: func(_ int, peer string) (string, string) {
		engine = append(engine, proxy(t, strings.TrimPrefix(server.URL, "nats://")))
		peers = append(peers, proxy(t, peer))
		last := len(peers) - 1
		return peers[last].Listen, fmt.Sprintf(`,"engine":"nats","nats":{"urls":["nats://%s"]}`, engine[last].Listen)
	}})
	for _, r := range c.replicas {
		wants(t, says(t, r, "before"), "before")
	}
	has, others := c.owner(t, c.replicas...)
	number := map[*replica]int{}
	for i, r := range c.replicas {
		number[r] = i
	}
	t.Run("fault/T48/engine away", func(t *testing.T) {
		server.Down()
		n := c.serveFor(t, time.Duration(figures.Size(3, 300))*time.Second)
		server.Restart()
		c.agree(t, "engine stopped", n)
	})
	t.Run("fault/T48/one cut off", func(t *testing.T) {
		cut := engine[number[others[0]]]
		cut.Stop()
		n := c.serveFor(t, time.Duration(figures.Size(3, 60))*time.Second)
		mend(t, cut)
		c.agree(t, "one replica cut off from it", n)
	})
	t.Run("fault/T48/slow", func(t *testing.T) {
		var heal []func()
		for _, p := range engine {
			heal = append(heal, poison(t, p))
		}
		n := c.serveFor(t, time.Duration(figures.Size(3, 60))*time.Second)
		for _, f := range heal {
			f()
		}
		c.agree(t, "it is slow", n)
	})
	t.Run("fault/T48/peers", func(t *testing.T) {
		s := client(t, has, `{}`)
		peers[number[has]].Stop()
		theirs := []*mcptest.RawHTTP{client(t, others[0], `{}`), client(t, others[1], `{}`)} // they use servers that these run themselves
		n := 0
		for end := time.Now().Add(time.Duration(figures.Size(1, 60)) * time.Second); time.Now().Before(end) && !t.Failed(); n += 3 {
			for i, r := range others {
				wants(t, theirs[i].Post(call(1, "back__echo", "by "+r.name)).Answer(t), "by "+r.name)
			}
			wants(t, at(s, has).Post(call(2, "back__echo", "at home")).Answer(t), "at home")
		}
		mend(t, peers[number[has]])
		for _, r := range c.replicas {
			awaitSays(t, r, "healed")
		}
		wants(t, s.Post(call(3, "back__echo", "back again")).Answer(t), "back again")
		figures.Report(t, "T48", "one replica cut off from the others: %d calls that need only one replica, 0 failed", n)
	})
}

// serveFor makes calls at each replica for a while, half of them to a server
// that runs once. No call may fail. It returns the number of calls.
func (c *cluster) serveFor(t *testing.T, d time.Duration) (n int) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); n++ {
		r := c.replicas[n%len(c.replicas)]
		text := fmt.Sprintf("call %d", n)
		if err := errors.Join(tryCall(t, r, "back__echo", fmt.Sprintf(`{"token":%q}`, text), text), trySays(t, r, text)); err != nil {
			t.Fatalf("%s was not answered by %s: %v", text, r.name, err)
		}
	}
	return 2 * n
}

// agree waits until all replicas agree again.
func (c *cluster) agree(t *testing.T, after string, calls int) {
	t.Helper()
	began := time.Now()
	for _, r := range c.replicas {
		await(t, r.name+" reaches the engine", func() bool {
			s, _ := r.status()
			return s.Engine.State == agreed.EngineReached && len(s.Members) == len(c.replicas)
		})
	}
	took := time.Since(began)
	if took > 20*time.Second {
		t.Errorf("agreement was back after %v", took)
	}
	figures.Report(t, "T48", "%s: %d calls, half of them at a server that runs once, 0 failed, agreement back after %v", after, calls, took.Round(time.Millisecond))
}

// TestLoginEngineLate checks that a logout that a replica has missed counts there
// from the first request on, although the engine is reached late.
func TestLoginEngineLate(t *testing.T) {
	server := mcptest.StartNATS(t)
	var engine []*toxiproxy.Proxy
	c := start(t, 2, options{
		access: `"access":{"enabled":true,"keys":"keys.json"},`, section: `,"engine":"nats"`,
		between: func(_ int, peer string) (string, string) {
			engine = append(engine, proxy(t, strings.TrimPrefix(server.URL, "nats://")))
			return peer, fmt.Sprintf(`,"nats":{"urls":["nats://%s"]}`, engine[len(engine)-1].Listen)
		},
	})
	a, b := c.replicas[0], c.replicas[1]
	boss := strings.TrimSpace(a.must("key", "create", "boss", "--scope", "admin"))
	enters(t, b, boss)
	cookie := a.logsIn(a.code(boss))
	if status := b.session(cookie); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	b.kill()
	if resp, text := a.browses(cookie, http.MethodPost, "logout", ""); resp.StatusCode != http.StatusNoContent {
		t.Fatalf("status %d: %s", resp.StatusCode, text)
	}
	engine[1].Stop()
	b.start()
	status := make(chan int, 1)
	go func() {
		req, _ := http.NewRequest(http.MethodGet, "http://127.0.0.1:"+b.port+"/api/v1/session", nil)
		req.AddCookie(&http.Cookie{Name: "aio_s", Value: cookie})
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	await(t, "b does not reach the engine", func() bool { s, _ := b.status(); return s.Engine.Error != "" })
	mend(t, engine[1])
	t.Run("cluster/login/engine late", func(t *testing.T) {
		if got := <-status; got != http.StatusUnauthorized {
			t.Errorf("status %d", got)
		}
		b.ready()
		if got := b.session(cookie); got != http.StatusUnauthorized {
			t.Errorf("status %d when it is ready", got)
		}
	})
}
