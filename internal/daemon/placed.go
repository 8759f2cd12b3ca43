package daemon

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/peer"
	"mcp-all-in-one/internal/upstream/hop"
)

// maxPlaced bounds the concurrent calls of another replica to a server. Each
// replica has its own limits; this bound protects against a replica that does
// not enforce them.
const maxPlaced = 16 << 10

// servePlaced lets another replica use a server that runs here, until that
// replica disconnects or this one stops.
func servePlaced(in *instance.Instance, j *peer.Join) {
	p := &placed{in: in, join: j}
	p.schema, p.server, _ = strings.Cut(j.Server, "/")
	p.client = make(instance.LateClient, 1)
	lim := &in.Config.Limits
	conn := duplex.NewConn(hop.Stream(j, lim.ClientMessage), duplex.ConnOptions{
		Handler: p, Strict: true, MaxInFlight: maxPlaced, Limits: scanLimits(lim),
		CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
		Tags: hop.Asked(known),
	})
	p.client <- conn
	select {
	case <-conn.Done():
	case <-j.Leave.Done():
		p.leave(conn)
	}
	conn.Close()
	if p.session != nil {
		p.session.Close()
	}
}

// known adds the principal to the context of a call.
func known(ctx context.Context, principal string) context.Context {
	if principal == "" {
		return access.With(ctx, access.Anonymous)
	}
	return access.With(ctx, access.Principal{ID: principal, Name: principal})
}

// placed handles the requests of another replica for a server.
type placed struct {
	in             *instance.Instance
	join           *peer.Join
	schema, server string
	client         instance.LateClient

	mu      sync.Mutex
	session *gateway.Session // session of the legacy era; nil until its first request
}

// Handle answers a request, if the server still runs here.
func (p *placed) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if p.join.Leave.Err() != nil || !p.join.Holds() {
		return nil, mcp.Failure(mcp.Draining, p.server, "the server is on another replica, or about to be")
	}
	if mcp.SaysVersion(req.Params) {
		s, err := p.open(gateway.Opening{Who: access.From(ctx), Header: http.Header{}})
		if err != nil {
			return nil, err
		}
		defer s.Close()
		return s.Handle(ctx, from, req)
	}
	s, err := p.legacy()
	if err != nil {
		return nil, err
	}
	return s.Handle(ctx, from, req)
}

// HandleNotification passes a notification to the legacy session.
func (p *placed) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if s, err := p.legacy(); err == nil {
		s.HandleNotification(ctx, from, n)
	}
}

// legacy returns the session of the legacy era; it opens it if necessary.
func (p *placed) legacy() (*gateway.Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session != nil {
		return p.session, nil
	}
	s, err := p.open(gateway.Opening{Who: access.Anonymous, Session: true, Client: p.client})
	if err == nil {
		p.session = s
	}
	return s, err
}

func (p *placed) open(o gateway.Opening) (*gateway.Session, error) {
	o.Schema, o.Server, o.Peer, o.Strict = p.schema, p.server, true, true
	return p.in.Gateway.Open(o)
}

// leave asks the other replica to disconnect and refuses further requests.
// Calls that do not end in time are lost with the connection: they may have
// run.
func (p *placed) leave(conn *duplex.Conn) {
	if conn.Notify(context.Background(), &jsonrpc.Notification{Method: hop.Leaving}) != nil {
		return
	}
	select {
	case <-conn.Done():
	case <-time.After(lastAnswers):
	}
}
