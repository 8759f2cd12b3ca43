package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
)

// TestLeaving has modern clients hang up at any time of a call: before the server
// has it, while it works, while it talks, while the answer is written, with the
// next request behind it. Nothing is left of their calls, whoever stays gets his
// own answers.
func TestLeaving(t *testing.T) {
	for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		t.Run(era.String()+" server", func(t *testing.T) { leaving(t, era) })
	}
}

func leaving(t *testing.T, era mcp.Era) {
	server := &slowly{parrot{modern: era == mcp.Modern}}
	hs := httptest.NewServer(server)
	t.Cleanup(hs.Close)
	record := traffic.New(traffic.Options{})
	url, set := between(t, hs.URL, gateway.Options{Traffic: record})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(n)))
			for i := range 15 {
				if err := visit(r, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"), fmt.Sprintf("%d-%d", n, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	u := set.Snapshot().Schema(config.DefaultSchema).Upstream("up")
	until(t, "no call runs", func() bool { return u.Status().Running == 0 && u.Status().Queued == 0 })
	until(t, "no call runs in the record", func() bool {
		calls, _ := record.List(nil, 0, 10_000)
		return !slices.ContainsFunc(calls, func(c traffic.Call) bool { return c.Status == traffic.StatusPending })
	})
}

// visit calls on one connection a few times, and leaves in the middle of a call.
func visit(r *rand.Rand, addr, token string) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	answers := bufio.NewReader(nc)
	for i := range 1 + r.IntN(4) {
		var marks []string
		calls := ""
		for k := range 1 + r.IntN(2) { // one may be sent behind the other
			marks = append(marks, fmt.Sprintf("%s-%d-%d", token, i, k))
			calls += leavingCall(r, marks[k])
		}
		if _, err := io.WriteString(nc, calls); err != nil {
			return err
		}
		for _, mark := range marks {
			if err := answered(answers, mark); err != nil {
				return err
			}
		}
	}
	last := leavingCall(r, "last")
	if r.IntN(3) == 0 {
		last += last[:r.IntN(len(last))]
	}
	if _, err := io.WriteString(nc, last); err != nil {
		return err
	}
	linger(r.IntN(5000))
	if half, ok := nc.(*net.TCPConn); ok && r.IntN(4) == 0 {
		_ = half.SetLinger(0)
	}
	return nil
}

// answered reads the answer to a call.
func answered(answers *bufio.Reader, mark string) error {
	resp, err := http.ReadResponse(answers, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"`+mark+`"`) {
		return fmt.Errorf("%s: %d %s, %v", mark, resp.StatusCode, body, err)
	}
	return nil
}

// linger lets others go first.
func linger(times int) {
	for range times {
		runtime.Gosched()
	}
}

// leavingCall is the request for a call that takes a while.
func leavingCall(r *rand.Rand, mark string) string {
	offer, level := "{}", ""
	if r.IntN(2) == 0 {
		offer = `{"elicitation":{}}`
	}
	if r.IntN(2) == 0 {
		level = `,"` + mcp.MetaLogLevel + `":"info"`
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"up__say","arguments":{"talks":%d,"size":%d},"_meta":{%q:%q,%q:%s%s}}}`,
		mark, r.IntN(3), r.IntN(3)*50_000, mcp.MetaVersion, mcp.LatestModern, mcp.MetaCapabilities, offer, level)
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Mcp-Protocol-Version: %s\r\nMcp-Method: tools/call\r\nMcp-Name: up__say\r\nContent-Length: %d\r\n\r\n%s", mcp.LatestModern, len(body), body)
}

// slowly is a parrot that takes its time for a call, talks meanwhile and answers at length.
type slowly struct{ parrot }

func (s *slowly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	if method, _ := jsonrpc.GetString(body, "method"); method != mcp.MethodToolsCall {
		s.parrot.ServeHTTP(w, r)
		return
	}
	args := jsonrpc.Get(body, "params", "arguments")
	var talks, size int
	fmt.Sscan(string(jsonrpc.Get(args, "talks")), &talks)
	fmt.Sscan(string(jsonrpc.Get(args, "size")), &size)
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, jsonrpc.Get(body, "id"), strings.Repeat("x", size))
	if talks == 0 {
		w.Header().Set("Content-Type", "application/json")
		linger(500)
		fmt.Fprint(w, answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for range talks {
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n")
		w.(http.Flusher).Flush()
		linger(500)
	}
	fmt.Fprintf(w, "data: %s\n\n", answer)
}
