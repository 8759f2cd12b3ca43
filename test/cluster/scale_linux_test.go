package cluster

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// resident returns the memory of the replica in KiB.
func (r *replica) resident() int {
	r.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID()))
	if err != nil {
		r.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// has returns how many servers that run once a node has, as r sees it; the node
// none has those that do not run.
func (r *replica) has(node string) int {
	n, _ := strconv.Atoi(r.metric(fmt.Sprintf("mcp_gateway_cluster_placed{node=%q}", node))) // no line means 0
	return n
}

// TestScale (fault/T56) is a tenth of 10,000 clients and 1,000 servers on three replicas. Each
// client has a session and a stream; two of three streams reach another replica
// than the session. Then one replica dies with its third of everything.
func TestScale(t *testing.T) {
	besideOthers(t)
	servers, clients := figures.Size(6, 100), figures.Size(30, 1000)
	o := options{section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, mcptest.StartNATS(t).URL), access: withMetrics}
	for i := range servers {
		o.servers += fmt.Sprintf(`,"s%d":{"command":%q}`, i, mcptest.Build(t))
	}
	began := time.Now()
	c := start(t, 3, o)
	a, b, third := c.replicas[0], c.replicas[1], c.replicas[2]
	await(t, "all servers run once", func() bool { return b.has("a")+b.has("b")+b.has("c") == servers })
	started := time.Since(began)
	before := 0
	for _, r := range c.replicas {
		before += r.resident()
	}

	sessions := make([]*mcptest.RawHTTP, clients)
	var opening sync.WaitGroup
	for lane := range 10 {
		opening.Go(func() {
			for i := lane; i < clients; i += 10 {
				s := client(t, c.replicas[i%3], `{}`)
				at(s, c.replicas[(i+i/3)%3]).Stream(http.MethodGet, "")
				sessions[i] = s
			}
		})
	}
	opening.Wait()
	after := 0
	for _, r := range c.replicas {
		after += r.resident()
	}
	each := max(after-before, 0) / clients
	if figures.Full() && each > 200 {
		t.Errorf("a session with its stream takes %d KiB", each)
	}

	lost := b.has("a")
	killed := time.Now()
	a.kill()
	await(t, "the servers of the dead replica run elsewhere", func() bool { return b.has("b")+b.has("c") == servers })
	moved := time.Since(killed)
	began = time.Now()
	var calling sync.WaitGroup
	for lane := range 10 {
		calling.Go(func() {
			for i := lane; i < clients; i += 10 {
				token := fmt.Sprint("after ", i)
				wants(t, at(sessions[i], []*replica{b, third}[i%2]).Post(call(1, "back__echo", token)).Answer(t), token)
			}
		})
	}
	calling.Wait()
	restored := time.Since(began)
	if n, of := b.restored()+third.restored(), (clients+2)/3; n != of {
		t.Errorf("%d sessions were restored, the dead replica had %d", n, of)
	}
	for _, i := range []int{0, servers / 2, servers - 1} {
		m := client(t, b, `{}`).Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s%d__echo","arguments":{"message":"still here"}}}`, i)).Answer(t)
		wants(t, m, "still here")
	}
	figures.Report(t, "T56", "3 replicas, %d servers that run once, up after %v; %d sessions, each with a stream, two of three at another replica: %d KiB each on all replicas together; one replica killed: its %d servers run elsewhere after %v, and its sessions answered %d clients within %v",
		servers, started.Round(time.Millisecond), clients, each, lost, moved.Round(time.Millisecond), clients, restored.Round(time.Millisecond))
}
