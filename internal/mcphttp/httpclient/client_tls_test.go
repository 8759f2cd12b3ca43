package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
)

func TestClientTLS(t *testing.T) {
	noLeaks(t)
	var seen, plain atomic.Int32
	hanging, gone := make(chan struct{}, 1), make(chan struct{}, 1)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		if r.ProtoMajor != 2 {
			plain.Add(1)
		}
		msg := receive(r)
		switch msg.Method {
		case "json":
			answerJSON(w, msg.ID, `1`)
		case "sse":
			events(w)(`data: {"jsonrpc":"2.0","id":%s,"result":2}`, msg.ID)
		case "hang":
			events(w)(": open")
			hanging <- struct{}{}
			<-r.Context().Done()
			gone <- struct{}{}
		}
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)

	stranger := NewClient(ClientOptions{URL: srv.URL})
	_, err := stranger.Call(t.Context(), &jsonrpc.Request{Method: "json"})
	if !NotSent(err) || seen.Load() != 0 {
		t.Errorf("a certificate of nobody: %v", err)
	}
	if err := stranger.Close(t.Context()); err != nil {
		t.Error(err)
	}

	c := NewClient(ClientOptions{URL: srv.URL, Modern: true})
	c.own.secure.TLSClientConfig = &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	defer c.Close(context.Background())
	for method, want := range map[string]string{"json": "1", "sse": "2"} {
		if got := call(t, c, method, ""); string(got.Result) != want {
			t.Errorf("%s: %s", method, got.Result)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, &jsonrpc.Request{Method: "hang"})
		done <- err
	}()
	next(t, hanging)
	cancel()
	if err := next(t, done); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call: %v", err)
	}
	next(t, gone)
	if plain.Load() != 0 {
		t.Errorf("%d requests were not HTTP/2", plain.Load())
	}
}
