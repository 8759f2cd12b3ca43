package mcpserver

import (
	"context"
	"crypto/subtle"
	"net/http"

	"mcp-all-in-one/internal/mcphttp"
)

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
