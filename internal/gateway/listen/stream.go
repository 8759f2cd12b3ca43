// Package listen manages the open subscriptions of clients: to lists,
// resources and tasks, and the addresses that the clients know.
package listen

import (
	"context"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/view"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// MaxStreams is how many open subscriptions one principal may have.
const MaxStreams = 1000

// A Client is the owner of a stream, with its view.
type Client struct {
	Principal string
	Look      func() *view.View
	Eyes      func(catalog.Kind) catalog.View
	// Rename replaces the server's task ids in a notification by those that the
	// client knows.
	Rename func(server string, n *jsonrpc.Notification) *jsonrpc.Notification
}

// A Stream is one open subscriptions/listen request.
type Stream struct {
	client Client
	from   jsonrpc.Peer
	id     []byte // raw id of the request, which tags its notifications
	kinds  map[string]bool

	// Changed receives when a server may have been replaced.
	Changed chan struct{}

	mu        sync.Mutex
	announced *view.View
	asked     map[string]bool // the aliases among the subscribed resources
}

// NewStream returns the stream of a request, which answers through from. wanted
// are the lists that the client subscribes to, honoured those that it gets.
func NewStream(client Client, from jsonrpc.Peer, wanted []byte) (l *Stream, honoured []byte) {
	l = &Stream{client: client, from: from, id: requestID(from), kinds: make(map[string]bool), Changed: make(chan struct{}, 1), announced: client.Look()}
	honoured = []byte(`{}`)
	for filter, method := range filters {
		if string(jsonrpc.Get(wanted, filter)) == "true" {
			l.kinds[method] = true
			honoured = jsonrpc.Set(honoured, []byte("true"), filter)
		}
	}
	return l, honoured
}

// requestID returns the id of the request that a peer answers.
func requestID(from jsonrpc.Peer) []byte {
	if p, ok := from.(interface{ RequestID() []byte }); ok {
		return append([]byte(nil), p.RequestID()...)
	}
	return []byte("null")
}

var filters = map[string]string{
	"toolsListChanged":     mcp.NotificationTools,
	"promptsListChanged":   mcp.NotificationPrompts,
	"resourcesListChanged": mcp.NotificationResources,
}

// End returns the result that ends the request.
func (l *Stream) End() *jsonrpc.Response {
	return &jsonrpc.Response{Result: jsonrpc.Set([]byte(`{"resultType":"complete"}`), l.id, "_meta", mcp.MetaSubscriptionID)}
}

// Note stores an alias with which the client subscribed to a resource.
func (l *Stream) Note(uri string) {
	if _, _, ok := l.client.Look().All.InURI(uri); !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil {
		l.asked = make(map[string]bool)
	}
	l.asked[uri] = true
}

// askedAs returns the address with which the client subscribed to a server's
// resource.
func (l *Stream) askedAs(server, uri string) string {
	alias := catalog.AliasURI(server, uri)
	l.mu.Lock()
	asked := l.asked[alias]
	l.mu.Unlock()
	if asked {
		return alias
	}
	return l.client.Look().All.OutURI(server, uri)
}

// Tell sends a notification tagged with the subscription.
func (l *Stream) Tell(ctx context.Context, method string, params []byte) error {
	params = jsonrpc.Set(params, l.id, "_meta", mcp.MetaSubscriptionID)
	return l.from.Notify(ctx, &jsonrpc.Notification{Method: method, Params: params})
}

// Updated notifies the client that a resource or a task changed.
func (l *Stream) Updated(ctx context.Context, server string, n *jsonrpc.Notification) {
	params := l.client.Rename(server, n).Params
	if uri, ok := jsonrpc.GetString(params, "uri"); ok {
		if out := l.askedAs(server, uri); out != uri {
			params = jsonrpc.Set(params, jsonrpc.Quote(out), "uri")
		}
	}
	l.Tell(ctx, n.Method, params)
}

// Announce notifies the client of the lists that changed since the last
// notification.
func (l *Stream) Announce(ctx context.Context) {
	select {
	case l.Changed <- struct{}{}:
	default:
	}
	now := l.client.Look()
	l.mu.Lock()
	was := l.announced
	l.announced = now
	l.mu.Unlock()
	for _, method := range view.Changed(was, now, l.client.Eyes) {
		if l.kinds[method] {
			l.Tell(ctx, method, []byte(`{}`))
		}
	}
}

// Streams are the open streams. The zero value is empty.
type Streams struct {
	mu   sync.Mutex
	open map[*Stream]struct{}
	by   map[string]int // per principal
}

// Add adds a stream. It returns false if the principal has too many.
func (ls *Streams) Add(l *Stream) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	who := l.client.Principal
	if ls.by[who] >= MaxStreams {
		return false
	}
	if ls.open == nil {
		ls.open, ls.by = make(map[*Stream]struct{}), make(map[string]int)
	}
	ls.open[l] = struct{}{}
	ls.by[who]++
	return true
}

// Remove removes a stream.
func (ls *Streams) Remove(l *Stream) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.open, l)
	if who := l.client.Principal; ls.by[who] > 1 {
		ls.by[who]--
	} else {
		delete(ls.by, who)
	}
}

// Announce notifies each client of its changed lists.
func (ls *Streams) Announce(ctx context.Context) {
	ls.mu.Lock()
	open := make([]*Stream, 0, len(ls.open))
	for l := range ls.open {
		open = append(open, l)
	}
	ls.mu.Unlock()
	for _, l := range open {
		l.Announce(ctx)
	}
}
