package inflight

import (
	"context"
	"sync/atomic"

	"golang.org/x/time/rate"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
)

// A Server is shared by the calls of all connections to one server.
type Server struct {
	Limits *config.Limits
	Hits   *config.Hits // counts the limits that were reached
	// Count counts dropped messages.
	Count func(what string)
	Flow  *rate.Limiter // of notifications

	// Trials are the first calls of tools on a pipe that clients share.
	Trials Trials

	// Asked is how many questions the server has asked so far.
	Asked atomic.Uint64
}

// Passes reports whether one more notification may be sent to a client now.
func (s *Server) Passes() bool {
	if s.Flow.Allow() {
		return true
	}
	s.Count("notification over the rate")
	return false
}

// A Conn is the connection that calls are made on.
type Conn interface {
	// HandleNotification handles a notification that is not about a single call.
	HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification)
	// Answer answers a question that needs no client; false for other questions.
	Answer(req *jsonrpc.Request) (*jsonrpc.Response, bool)
	// NotOffered records that the server asked a client for what it does not
	// offer.
	NotOffered()
	// Unanswered handles a question that no client can answer. refusal is the answer
	// if no person gives one.
	Unanswered(ctx context.Context, req *jsonrpc.Request, refusal *jsonrpc.Response) *jsonrpc.Response
	// GiveUp ends a connection that blocks writes. It does not wait.
	GiveUp()
}
