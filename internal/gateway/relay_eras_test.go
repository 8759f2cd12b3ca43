package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/traffic"
)

// TestBetweenHTTP has many clients over HTTP call a server over HTTP that does
// what servers do, of either era. Each gets its own answer, and nothing runs
// afterwards.
func TestBetweenHTTP(t *testing.T) {
	for _, modernClient := range []bool{false, true} {
		for _, modernServer := range []bool{false, true} {
			t.Run(fmt.Sprintf("modern client %t server %t", modernClient, modernServer), func(t *testing.T) {
				betweenEras(t, modernClient, modernServer)
			})
		}
	}
}

func betweenEras(t *testing.T, modernClient, modernServer bool) {
	server := &moody{ran: map[string]int{}, modern: modernServer}
	hs := httptest.NewServer(server)
	t.Cleanup(hs.Close)
	record := traffic.New(traffic.Options{})
	url, set := between(t, hs.URL, gateway.Options{Traffic: record})
	ways := []string{"plain", "cut", "plain", "stream", "ask", "error", "plain", "hang", "plain", "plain"}
	var all sync.WaitGroup
	for n := range 4 {
		c := newEraClient(t, url, modernClient)
		for k := range 4 {
			all.Go(func() {
				for i := range 50 {
					way, token := ways[i%len(ways)], fmt.Sprintf("%d-%d-%d", n, k, i)
					if i == 25 {
						way = "later"
					}
					resp, err := c.call(t.Context(), server, way, token)
					if !asWanted(way, token, resp, err) || modernClient && err == nil && resp.Err == nil && !strings.Contains(string(resp.Result), `"resultType"`) {
						t.Errorf("%s %s: %v, %+v", way, token, err, resp)
					}
					resp.Release()
				}
			})
		}
	}
	all.Wait()
	server.mu.Lock()
	for token, times := range server.ran {
		if twice := strings.HasSuffix(token, "-25") || modernServer && strings.HasSuffix(token, "4"); times != 1 && !(times == 2 && twice) {
			t.Errorf("%s ran %d times", token, times)
		}
	}
	server.mu.Unlock()
	u := set.Snapshot().Schema(config.DefaultSchema).Upstream("up")
	until(t, "no call runs", func() bool { return u.Status().Running == 0 })
	until(t, "no call runs in the record", func() bool {
		calls, _ := record.List(nil, 0, 10_000)
		return !slices.ContainsFunc(calls, func(c traffic.Call) bool { return c.Status == traffic.StatusPending })
	})
}

// asWanted says whether a call ended as the server was asked to end it.
func asWanted(way, token string, resp *jsonrpc.Response, err error) bool {
	switch way {
	case "cut":
		return err == nil && resp.Err != nil
	case "error":
		return err == nil && resp.Err != nil && strings.Contains(resp.Err.Message, token)
	case "hang":
		return errors.Is(err, context.Canceled)
	}
	return err == nil && resp.Err == nil && strings.Contains(string(resp.Result), `"`+token+`"`)
}

// until waits for something.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	look, late := time.NewTicker(time.Millisecond), time.After(10*time.Second)
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("still waiting: %s", what)
		}
	}
}

// An eraClient can be asked, in the way of its era.
type eraClient struct {
	*mcphttp.Client
	meta string
}

func newEraClient(t *testing.T, url string, modern bool) *eraClient {
	t.Helper()
	const offer = `{"elicitation":{"form":{}}}`
	c := &eraClient{mcphttp.NewClient(mcphttp.ClientOptions{URL: url, Modern: modern}), ""}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	if modern {
		c.meta = `,"_meta":{"` + mcp.MetaVersion + `":"` + mcp.LatestModern + `","` + mcp.MetaCapabilities + `":` + offer + `}`
		return c
	}
	resp, err := c.Call(t.Context(), &jsonrpc.Request{Method: mcp.MethodInitialize, Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":` + offer + `,"clientInfo":{"name":"c","version":"1"}}`)})
	if err != nil || resp.Err != nil {
		t.Fatal(err, resp)
	}
	c.SetVersion("2025-11-25")
	return c
}

// call makes a call; one that hangs is given up as soon as the server has it.
func (c *eraClient) call(ctx context.Context, m *moody, way, token string) (*jsonrpc.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if way == "hang" {
		arrived := make(chan struct{})
		m.arrived.Store(token, arrived)
		go func() {
			<-arrived
			cancel()
		}()
	}
	return c.send(ctx, way, token, "")
}

func (c *eraClient) send(ctx context.Context, way, token, more string) (*jsonrpc.Response, error) {
	params := fmt.Appendf(nil, `{"name":"up__say","arguments":{"way":%q,"token":%q}%s%s}`, way, token, more, c.meta)
	resp, err := c.Call(ctx, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: params, Back: accepting{}})
	if err != nil || resp.Err != nil || c.meta == "" {
		return resp, err
	}
	if kind, _ := jsonrpc.GetString(resp.Result, "resultType"); kind != "input_required" {
		return resp, nil
	}
	state, _ := jsonrpc.GetString(resp.Result, "requestState")
	answers := []byte(`{}`)
	for key := range jsonrpc.Members(jsonrpc.Get(resp.Result, "inputRequests")) {
		answers = jsonrpc.Set(answers, []byte(accepted), key)
	}
	resp.Release()
	return c.send(ctx, way, token, fmt.Sprintf(`,"requestState":%q,"inputResponses":%s`, state, answers))
}

const accepted = `{"action":"accept","content":{}}`

// accepting accepts whatever it is asked.
type accepting struct{}

func (accepting) Handle(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
	return &jsonrpc.Response{Result: []byte(accepted)}, nil
}

func (accepting) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}
