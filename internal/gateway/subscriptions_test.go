package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// watched serves r, and calls hold before it answers a request of a method.
func watched(t *testing.T, r *raw, method string, hold func()) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		if m, bad := jsonrpc.Scan(body, nil); bad == nil && m.Method == method {
			hold()
		}
		r.ServeHTTP(w, req)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func watchable(t *testing.T) *raw {
	return newRaw(t, `{"resources":{"subscribe":true}}`, map[string]string{
		mcp.MethodResourcesList: `{"resources":[{"uri":"a:b","name":"b"}]}`,
		mcp.MethodTemplatesList: `{"resourceTemplates":[{"uriTemplate":"a:{n}","name":"n"}]}`,
		mcp.MethodSubscribe:     `{}`, mcp.MethodUnsubscribe: `{}`,
	})
}

// TestSubscribingWhileClosing checks that a session that ends while it subscribes is
// not subscribed afterwards.
func TestSubscribingWhileClosing(t *testing.T) {
	r := watchable(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	url := watched(t, r, mcp.MethodSubscribe, func() { close(begun); <-goOn })
	s := open(t, newGateway(t, map[string]string{"a": url}, nil), "", mcp.LatestLegacy, `{}`)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.Handle(t.Context(), nobody{}, &jsonrpc.Request{Method: mcp.MethodSubscribe, Params: []byte(`{"uri":"a:b"}`)})
	}()
	<-begun
	s.Close()
	close(goOn)
	<-answered
	if got := r.sent(t, mcp.MethodUnsubscribe); got != `{"uri":"a:b"}` {
		t.Errorf("the server got %s", got)
	}
}

// TestServerIsFull checks that a client learns that a modern server, which names those
// it accepts, does not accept its subscription.
func TestServerIsFull(t *testing.T) {
	r := watchable(t)
	r.speak(mcp.V2026_07_28)
	r.most = 1
	g := newGateway(t, map[string]string{"a": r.URL}, nil)
	first, second := open(t, g, "", mcp.LatestLegacy, `{}`), open(t, g, "", mcp.LatestLegacy, `{}`)
	ask(t, first, mcp.MethodSubscribe, `{"uri":"a:1"}`)
	ask(t, second, mcp.MethodSubscribe, `{"uri":"a:1"}`)
	resp, err := second.Handle(t.Context(), nobody{}, &jsonrpc.Request{Method: mcp.MethodSubscribe, Params: []byte(`{"uri":"a:2"}`)})
	if err != nil || resp.Err == nil {
		t.Fatalf("answered with %+v, %v", resp, err)
	}
	for _, says := range []string{`"a:2"`, "accepts no more subscriptions", "end subscriptions"} {
		if !strings.Contains(resp.Err.Message, says) {
			t.Errorf("it does not say %s: %s", says, resp.Err.Message)
		}
	}
	modern, err := g.Open(Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Client: nobody{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(modern.Close)
	client := told{notes: make(chan string, 10)}
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() {
		modern.Handle(ctx, client, &jsonrpc.Request{Method: mcp.MethodListen, Params: []byte(`{"notifications":{"resourceSubscriptions":["a:1","a:2"]},"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`)})
	})
	ack := client.next(t, mcp.NotificationListening)
	cancel()
	listening.Wait()
	if uris := jsonrpc.Get([]byte(ack), "notifications", "resourceSubscriptions"); string(uris) != `["a:1"]` {
		t.Errorf("acknowledged: %s", ack)
	}
	ask(t, first, mcp.MethodUnsubscribe, `{"uri":"a:1"}`)
	ask(t, second, mcp.MethodUnsubscribe, `{"uri":"a:1"}`)
	ask(t, second, mcp.MethodSubscribe, `{"uri":"a:2"}`) // there is a place now
}

// TestManySubscriptionsEnd checks that a slow server hears of all subscriptions that
// end with a session.
func TestManySubscriptionsEnd(t *testing.T) {
	r, ended := watchable(t), new(atomic.Int64)
	url := watched(t, r, mcp.MethodUnsubscribe, func() { time.Sleep(200 * time.Millisecond); ended.Add(1) })
	s := open(t, newGateway(t, map[string]string{"a": url}, nil), "", mcp.LatestLegacy, `{}`)
	const many = 40
	for n := range many {
		ask(t, s, mcp.MethodSubscribe, fmt.Sprintf(`{"uri":"a:%d"}`, n))
	}
	s.Close()
	if n := ended.Load(); n != many {
		t.Errorf("the server heard of %d of %d", n, many)
	}
}
