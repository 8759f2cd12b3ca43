package gateway

import (
	"context"
	"fmt"
	"slices"

	"mcp-all-in-one/internal/gateway/listen"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A listener is one open subscriptions/listen request.
type listener struct {
	*listen.Stream
	s *Session
}

// Updated notifies the client that a resource or a task changed.
func (l *listener) Updated(ctx context.Context, server string, n *jsonrpc.Notification) {
	if uri, ok := jsonrpc.GetString(n.Params, "uri"); !ok || l.s.guard.hears(ctx, server, uri) {
		l.Stream.Updated(ctx, server, n)
	}
}

// listen answers subscriptions/listen: it acknowledges the subscriptions, sends
// their notifications, and returns when the client disconnects or its credential
// ends.
func (s *Session) listen(ctx context.Context, from jsonrpc.Peer, p requestClient, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	wanted := jsonrpc.Get(req.Params, "notifications")
	if len(wanted) == 0 || wanted[0] != '{' {
		return nil, jsonrpc.InvalidParams("notifications must be an object")
	}
	if err := s.guard.authorize(ctx, s.request(p, req), &target{kind: listenItem}); err != nil {
		return nil, err
	}
	ctx, end := s.opening.Who.Bound(ctx)
	defer end()
	client := listen.Client{Principal: s.opening.Who.ID, Look: s.look, Eyes: s.modernView(p.caller), Rename: s.nameTask}
	stream, honoured := listen.NewStream(client, from, wanted)
	l := &listener{stream, s}
	if !s.gw.listeners.Add(l.Stream) {
		return nil, mcp.Failure(mcp.Overloaded, "", fmt.Sprintf("more than %d subscriptions are open", listen.MaxStreams))
	}
	defer s.gw.listeners.Remove(l.Stream)
	resources := jsonrpc.Get(wanted, "resourceSubscriptions")
	release, err := s.gw.memory.Hold(s.opening.Who.ID, listen.WeightOf(resources))
	if err != nil {
		return nil, err
	}
	defer release()
	var taskIDs []byte
	if p.caller.Offer.TakesTasks() {
		taskIDs = jsonrpc.Get(wanted, "taskIds")
	}
	owned := l.hear(ctx, p, resources, mcp.MethodSubscribe, "uri", l.watchResource)
	watched := l.hear(ctx, p, taskIDs, mcp.MethodTasksGet, "taskId", l.watchTask)
	owned, watched = listen.Confirm(ctx, owned), listen.Confirm(ctx, watched)
	defer func() { listen.Release(slices.Concat(owned, watched), closeWait) }()
	if uris := listen.Honour(resources, owned); uris != nil {
		honoured = jsonrpc.Set(honoured, uris, "resourceSubscriptions")
	}
	if ids := listen.Honour(taskIDs, watched); ids != nil {
		honoured = jsonrpc.Set(honoured, ids, "taskIds")
	}
	ack := jsonrpc.Set([]byte(`{}`), honoured, "notifications")
	if err := l.Tell(ctx, mcp.NotificationListening, ack); err != nil {
		return nil, err
	}
	l.Announce(ctx) // changes from before it was registered
	for {
		select {
		case <-l.Changed:
			listen.Follow(ctx, owned)
			continue
		case <-ctx.Done():
		case <-s.gw.stopping.Done():
		}
		return l.End(), nil
	}
}

// hear subscribes to the wanted resources or tasks. member is the param of method that
// identifies one.
func (l *listener) hear(ctx context.Context, p requestClient, wanted []byte, method, member string, begin func(context.Context, *Call) *listen.Hearing) []*listen.Hearing {
	return listen.Hear(wanted, func(id []byte) *listen.Hearing {
		return begin(ctx, &Call{Via: l.s.opening.Via, Method: method, Params: jsonrpc.Set([]byte(`{}`), id, member), client: p})
	})
}
