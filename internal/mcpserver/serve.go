package mcpserver

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/stdio/lines"
)

// Serve serves one client on a stream until the stream or ctx ends.
func (s *Server) Serve(ctx context.Context, stream jsonrpc.Stream) error {
	session := s.Open(nil)
	defer session.Close()
	conn := duplex.NewConn(lastWord{stream, session.end}, duplex.ConnOptions{
		Handler:       session,
		Strict:        true,
		CancelMethod:  mcp.NotificationCancelled,
		Uncancellable: mcp.MethodInitialize,
		Batch:         func() bool { return mcp.Rules(session.Version()).Batch },
	})
	session.mu.Lock()
	session.client = conn
	session.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	<-conn.Done()
	if ctx.Err() != nil {
		return nil
	}
	return conn.Err()
}

// lastWord ends the open subscriptions of a session when the stream of its
// client has ended: they would stay open otherwise.
type lastWord struct {
	jsonrpc.Stream
	heard func()
}

func (l lastWord) Read() ([]byte, func(), error) {
	msg, release, err := l.Stream.Read()
	if err != nil && !errors.As(err, new(*jsonrpc.FrameError)) {
		l.heard()
	}
	return msg, release, err
}

// ServeStdio serves one client on a pair of pipes until the input or ctx ends.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.Serve(ctx, stdio.Serve(in, out, lines.StreamOptions{}))
}

// HTTP serves the server at /mcp, and at /sse for legacy clients. bearer, if
// set, is the token that every request must carry. close ends all sessions.
func (s *Server) HTTP(bearer string) (handler http.Handler, close func()) {
	front := mcphttp.NewServer(mcphttp.ServerOptions{
		Open: func(_ context.Context, o *mcphttp.Opening) (mcphttp.Session, error) { return s.Open(o.Client), nil },
	})
	return bearerOnly(bearer, Routes(front)), front.Close
}

// Routes serves front at /mcp, and at /sse with /message.
func Routes(front *mcphttp.Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		front.ServeMCP(w, r, mcphttp.Endpoint{}, "")
	})
	mux.HandleFunc("/sse", func(w http.ResponseWriter, r *http.Request) {
		front.ServeSSE(w, r, mcphttp.Endpoint{}, "/message", "")
	})
	mux.HandleFunc("/message", func(w http.ResponseWriter, r *http.Request) {
		front.ServeMessage(w, r, "")
	})
	return mux
}

func bearerOnly(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "invalid or missing token", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
