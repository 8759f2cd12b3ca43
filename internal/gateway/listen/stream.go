// Package listen holds the open subscriptions of modern clients: what each hears
// about, and by which address.
package listen

import (
	"context"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/view"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// MaxStreams bounds the open subscriptions of one principal.
const MaxStreams = 1000

// A Client is who a stream belongs to, and what it sees.
type Client struct {
	Principal string
	Look      func() *view.View
	Eyes      func(catalog.Kind) catalog.View
	// Rename gives the tasks in a notification of a server the ids that the client
	// knows.
	Rename func(server string, n *jsonrpc.Notification) *jsonrpc.Notification
}

// A Stream is one open subscriptions/listen request.
type Stream struct {
	client Client
	from   jsonrpc.Peer
	id     []byte // raw id of the request, which tags what it is told
	kinds  map[string]bool

	mu        sync.Mutex
	announced *view.View
	asked     map[string]bool // the aliases among what it hears about
}

// NewStream returns the stream of a request that from is the way back of, with
// the lists that the client wants to hear about, and what is honoured of that.
func NewStream(client Client, from jsonrpc.Peer, wanted []byte) (l *Stream, honoured []byte) {
	l = &Stream{client: client, from: from, id: requestID(from), kinds: make(map[string]bool), announced: client.Look()}
	honoured = []byte(`{}`)
	for filter, method := range filters {
		if string(jsonrpc.Get(wanted, filter)) == "true" {
			l.kinds[method] = true
			honoured = jsonrpc.Set(honoured, []byte("true"), filter)
		}
	}
	return l, honoured
}

// requestID is the id of the request that a peer is the way back of.
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

// End is the result of the request.
func (l *Stream) End() *jsonrpc.Response {
	return &jsonrpc.Response{Result: jsonrpc.Set([]byte(`{"resultType":"complete"}`), l.id, "_meta", mcp.MetaSubscriptionID)}
}

// Note remembers an alias by which the client wants to hear about a resource.
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

// askedAs is the address by which the client wants to hear about a server's
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

// Updated tells the client that a resource or a task changed.
func (l *Stream) Updated(ctx context.Context, server string, n *jsonrpc.Notification) {
	params := l.client.Rename(server, n).Params
	if uri, ok := jsonrpc.GetString(params, "uri"); ok {
		if out := l.askedAs(server, uri); out != uri {
			params = jsonrpc.Set(params, jsonrpc.Quote(out), "uri")
		}
	}
	l.Tell(ctx, n.Method, params)
}

// Announce tells the client which of its lists changed since it was last told.
func (l *Stream) Announce(ctx context.Context) {
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

// Streams are the open ones. The zero value has none.
type Streams struct {
	mu   sync.Mutex
	open map[*Stream]struct{}
	by   map[string]int // per principal
}

// Add notes one more; false where its principal has too many.
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

// Remove forgets one.
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

// Announce tells each client which of its lists changed.
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
