package probe

import (
	"context"
	"errors"
	"io"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
)

// Relay forwards all messages between a client on a stream and a target, and
// reports them to opt.OnFrame. It returns when the client closes the stream.
func Relay(ctx context.Context, client jsonrpc.Stream, t Target, opt Options) error {
	opt.withDefaults()
	if t.Command != "" || t.Dial != nil {
		return relayStream(ctx, client, t, opt)
	}
	r := &relay{target: t, opt: opt}
	conn := duplex.NewConn(client, duplex.ConnOptions{
		Handler: r, Strict: true, CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
		Batch: func() bool { return false },
	})
	r.client = conn
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	<-conn.Done()
	if r.session != nil {
		r.session.Close(ctx)
	}
	return conn.Err()
}

// relayStream forwards whole messages, byte for byte.
func relayStream(ctx context.Context, client jsonrpc.Stream, t Target, opt Options) error {
	var link connection
	link.init(ctx, t, opt)
	server, err := link.rawStream(ctx)
	if err != nil {
		return &StartError{Err: err}
	}
	tapped := &tappedStream{server, link.tap, &link.part}
	stop := context.AfterFunc(ctx, func() { client.Close(); tapped.Close() })
	defer stop()
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() {
		failed = pass(tapped, client)
		client.Close()
	})
	err = pass(client, tapped)
	if link.child != nil {
		err = errors.Join(err, link.child.Stop(context.WithoutCancel(ctx)))
	}
	tapped.Close()
	wg.Wait()
	link.release()
	return errors.Join(err, failed)
}

// pass copies messages until one side ends.
func pass(from, to jsonrpc.Stream) error {
	for {
		msg, release, err := from.Read()
		if errors.As(err, new(*jsonrpc.FrameError)) {
			continue
		}
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, jsonrpc.ErrClosed) {
				return nil
			}
			return err
		}
		err = to.Write(msg)
		if release != nil {
			release()
		}
		if err != nil {
			return nil // the other side has ended; its own reader reports that
		}
	}
}

// A relay forwards requests to an HTTP server. The client's first message
// determines the era.
type relay struct {
	target Target
	opt    Options
	client *duplex.Conn

	mu      sync.Mutex
	session *Session
}

// server returns the session, and opens it for the first message.
func (r *relay) server(ctx context.Context, method string) (*Session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session != nil {
		return r.session, nil
	}
	era := mcp.Modern
	if method == mcp.MethodInitialize {
		era = mcp.Legacy
	}
	s, err := connect(context.WithoutCancel(ctx), r.target, r.opt, era)
	if err != nil {
		return nil, err
	}
	s.passTo = r.client
	r.session = s
	return s, nil
}

// Handle forwards a request.
func (r *relay) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	s, err := r.server(ctx, req.Method)
	if err != nil {
		return nil, err
	}
	resp, err := s.link.peer.Call(ctx, &jsonrpc.Request{Method: req.Method, Params: req.Params, Back: passing{from}})
	if err != nil && resp == nil {
		return nil, err
	}
	if req.Method == mcp.MethodInitialize && resp.Err == nil && s.link.client != nil {
		version, _ := jsonrpc.GetString(resp.Result, "protocolVersion")
		s.link.client.SetVersion(version)
	}
	return resp, nil
}

// HandleNotification forwards a notification.
func (r *relay) HandleNotification(ctx context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	s, err := r.server(ctx, n.Method)
	if err != nil {
		r.opt.Log.Warn("relaying a notification", "method", n.Method, "err", err)
		return
	}
	if err := s.link.peer.Notify(ctx, n); err != nil {
		r.opt.Log.Warn("relaying a notification", "method", n.Method, "err", err)
	}
	if n.Method == mcp.NotificationInitialized {
		s.link.openStream()
	}
}

// passing forwards the messages of a server to its client.
type passing struct{ to jsonrpc.Peer }

func (p passing) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return p.to.Call(ctx, &jsonrpc.Request{Method: req.Method, Params: req.Params})
}

func (p passing) HandleNotification(ctx context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	// If the client has disconnected, the call ends on its own.
	_ = p.to.Notify(ctx, n)
}
