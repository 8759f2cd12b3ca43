package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

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
