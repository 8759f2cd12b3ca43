package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
)

func serveSSE(t *testing.T, h http.HandlerFunc) ClientOptions {
	t.Helper()
	noLeaks(t)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return ClientOptions{URL: srv.URL + "/base/sse", MaxMessage: 1 << 10}
}

func TestSSEStream(t *testing.T) {
	posted := make(chan string, 1)
	opt := serveSSE(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			posted <- r.URL.String() + " " + string(body)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		send := events(w)
		send(": welcome")
		send("event: endpoint\ndata: messages?session=1")
		send("event: other\ndata: x")
		send("event: message\ndata: %s", <-posted)
		send("data: %s", strings.Repeat("x", 64<<10))
		send("data: last")
	})
	ctx, cancel := context.WithCancel(t.Context())
	s, err := DialSSE(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	cancel() // ends only the dialling
	must.OK(t, s.Write([]byte(`{"a":`), []byte(`1}`)))
	if msg, _, err := s.Read(); err != nil || string(msg) != `/base/messages?session=1 {"a":1}` {
		t.Errorf("read %q, %v", msg, err)
	}
	_, _, err = s.Read()
	if _, ok := errors.AsType[*jsonrpc.FrameError](err); !ok {
		t.Errorf("event over the limit: %v, want a FrameError", err)
	}
	if msg, _, err := s.Read(); err != nil || string(msg) != "last" {
		t.Errorf("behind it: %q, %v", msg, err)
	}
	if _, _, err := s.Read(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSSEDialRefuses(t *testing.T) {
	tests := []struct {
		name     string
		endpoint string
		ok       bool
	}{
		{"same origin", "/m", true},
		{"absolute", "http://HOST/m?x=1", true},
		{"other host", "http://example.com/m", false},
		{"other port", "http://127.0.0.1:1/m", false},
		{"other scheme", "https://HOST/m", false},
		{"protocol relative", "//example.com/m", false},
		{"user", "http://user@HOST/m", false},
		{"script", "javascript:alert(1)", false},
		{"not a URL", "http://[/", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opt := serveSSE(t, func(w http.ResponseWriter, r *http.Request) {
				events(w)("event: endpoint\ndata: %s", strings.ReplaceAll(tt.endpoint, "HOST", r.Host))
				<-r.Context().Done()
			})
			s, err := DialSSE(t.Context(), opt)
			if (err == nil) != tt.ok {
				t.Errorf("error %v", err)
			}
			if s != nil {
				s.Close()
			}
		})
	}
	t.Run("status", func(t *testing.T) {
		_, err := DialSSE(t.Context(), serveSSE(t, http.NotFound))
		var status *StatusError
		if !errors.As(err, &status) || status.Status != 404 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("ends", func(t *testing.T) {
		_, err := DialSSE(t.Context(), serveSSE(t, func(w http.ResponseWriter, _ *http.Request) { events(w)(":") }))
		if !errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := DialSSE(ctx, serveSSE(t, func(w http.ResponseWriter, r *http.Request) {
			events(w)(":")
			cancel()
			<-r.Context().Done()
		}))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestSSECloseEndsRead(t *testing.T) {
	opt := serveSSE(t, func(w http.ResponseWriter, r *http.Request) {
		events(w)("event: endpoint\ndata: /m")
		<-r.Context().Done()
	})
	s, err := DialSSE(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, _, err := s.Read()
		done <- err
	}()
	s.Close()
	if err := next(t, done); err != io.EOF {
		t.Errorf("Read ended with %v", err)
	}
	if err := s.Write([]byte("{}")); !errors.Is(err, jsonrpc.ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
}

func TestSSEWriteRefused(t *testing.T) {
	opt := serveSSE(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "no such session")
			return
		}
		events(w)("event: endpoint\ndata: /m")
		<-r.Context().Done()
	})
	s, err := DialSSE(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var status *StatusError
	if err := s.Write([]byte("{}")); !errors.As(err, &status) || string(status.Body) != "no such session" {
		t.Errorf("got %v", err)
	}
}
