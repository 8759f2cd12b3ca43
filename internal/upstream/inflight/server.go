package inflight

import (
	"context"
	"sync/atomic"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
)

// A Server is what the calls of all connections to one server have in common.
type Server struct {
	Limits *config.Limits
	Hits   *config.Hits // the limits that were reached
	// Count counts what was dropped.
	Count func(what string)

	// Asked is how many questions the server has asked so far.
	Asked atomic.Uint64

	flow flow
}

// Passes says whether one more notification may reach a client now.
func (s *Server) Passes() bool {
	if s.flow.allow() {
		return true
	}
	s.Count("notification over the rate")
	return false
}

// A Conn is the connection that calls are made on.
type Conn interface {
	// HandleNotification hears what is not about one call.
	HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification)
	// Answer replies to a question that needs no client; false for any other.
	Answer(req *jsonrpc.Request) (*jsonrpc.Response, bool)
	// NotOffered notes that a client was asked for what it does not offer.
	NotOffered()
	// Unanswered replies to a question that no client can be asked.
	Unanswered(ctx context.Context, req *jsonrpc.Request) *jsonrpc.Response
	// GiveUp ends a connection that cannot even be written to. It does not wait.
	GiveUp()
}
