package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/tasks"
	"mcp-all-in-one/internal/gateway/view"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// maxListeners bounds the open subscriptions of one principal.
const maxListeners = 1000

// listeners are the open subscriptions/listen requests.
type listeners struct {
	mu   sync.Mutex
	open map[*listener]struct{}
	by   map[string]int // per principal
}

// A listener is one open subscriptions/listen request.
type listener struct {
	s     *Session
	from  jsonrpc.Peer
	id    []byte // raw id of the request, which tags what it is told
	kinds map[string]bool

	mu        sync.Mutex
	announced *view.View
	asked     map[string]bool // the aliases among what it hears about
}

var listenFilters = map[string]string{
	"toolsListChanged":     mcp.NotificationTools,
	"promptsListChanged":   mcp.NotificationPrompts,
	"resourcesListChanged": mcp.NotificationResources,
}

// listen answers subscriptions/listen: it says what is honoured, tells what
// happens, and ends when the client goes away.
func (s *Session) listen(ctx context.Context, from jsonrpc.Peer, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	wanted := jsonrpc.Get(req.Params, "notifications")
	if len(wanted) == 0 || wanted[0] != '{' {
		return nil, jsonrpc.InvalidParams("notifications must be an object")
	}
	if err := s.authorize(ctx, s.request(p, req), &target{kind: listenItem}); err != nil {
		return nil, err
	}
	l := &listener{s: s, from: from, id: requestID(from), kinds: make(map[string]bool)}
	if !s.gw.listeners.add(l) {
		return nil, mcp.Failure(mcp.Overloaded, "", fmt.Sprintf("more than %d subscriptions are open", maxListeners))
	}
	defer s.gw.listeners.remove(l)
	honoured := []byte(`{}`)
	for filter, method := range listenFilters {
		if string(jsonrpc.Get(wanted, filter)) == "true" {
			l.kinds[method] = true
			honoured = jsonrpc.Set(honoured, []byte("true"), filter)
		}
	}
	l.announced = s.look()
	owned, uris := l.subscribe(ctx, p, jsonrpc.Get(wanted, "resourceSubscriptions"))
	defer l.unsubscribe(p, owned)
	if uris != nil {
		honoured = jsonrpc.Set(honoured, uris, "resourceSubscriptions")
	}
	watched, ids := l.watch(ctx, p, jsonrpc.Get(wanted, "taskIds"))
	defer l.unwatch(p, watched)
	if ids != nil {
		honoured = jsonrpc.Set(honoured, ids, "taskIds")
	}
	l.confirm(ctx, p, ownersOf(owned, watched))
	ack := jsonrpc.Set([]byte(`{}`), honoured, "notifications")
	if err := l.tell(ctx, mcp.NotificationListening, ack); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
	case <-s.gw.stopping:
	}
	return &jsonrpc.Response{Result: jsonrpc.Set([]byte(`{"resultType":"complete"}`), l.id, "_meta", mcp.MetaSubscriptionID)}, nil
}

// requestID is the id of the request that a peer is the way back of.
func requestID(from jsonrpc.Peer) []byte {
	if p, ok := from.(interface{ RequestID() []byte }); ok {
		return append([]byte(nil), p.RequestID()...)
	}
	return []byte("null")
}

// heard is a resource or a task that a listener hears about.
type heard struct {
	owner *upstream.Upstream
	id    string // as its owner knows it
	// bridge is the task where its owner is a legacy server; nil otherwise.
	bridge *tasks.Bridge
}

// ownersOf are the servers of what is heard about, each once.
func ownersOf(lists ...[]heard) []*upstream.Upstream {
	var owners []*upstream.Upstream
	for _, list := range lists {
		for _, h := range list {
			if !slices.Contains(owners, h.owner) {
				owners = append(owners, h.owner)
			}
		}
	}
	return owners
}

// subscribe asks the owners of the wanted resources and returns those that
// agreed.
func (l *listener) subscribe(ctx context.Context, p party, wanted []byte) ([]heard, []byte) {
	if len(wanted) == 0 || wanted[0] != '[' {
		return nil, nil
	}
	var owned []heard
	uris := []byte{'['}
	for raw := range jsonrpc.Elements(wanted) {
		if len(owned) >= maxSubscriptions {
			break
		}
		c := &Call{Via: l.s.opening.Via, Method: mcp.MethodSubscribe, Params: jsonrpc.Set([]byte(`{}`), raw, "uri"), client: p}
		h, ok := l.watchResource(ctx, c)
		if !ok {
			continue
		}
		owned = append(owned, h)
		l.note(c.Target)
		if len(uris) > 1 {
			uris = append(uris, ',')
		}
		uris = append(uris, raw...)
	}
	return owned, append(uris, ']')
}

// note remembers an alias by which the client wants to hear about a resource.
func (l *listener) note(uri string) {
	if _, _, ok := l.s.look().All.InURI(uri); !ok {
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
func (l *listener) askedAs(server, uri string) string {
	alias := catalog.AliasURI(server, uri)
	l.mu.Lock()
	asked := l.asked[alias]
	l.mu.Unlock()
	if asked {
		return alias
	}
	return l.s.look().All.OutURI(server, uri)
}

// release ends the subscriptions of a listener that is gone, within a bound.
func release(held []heard, end func(context.Context, heard)) {
	if len(held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	for _, h := range held {
		end(ctx, h)
	}
}

// tell sends a notification tagged with the subscription.
func (l *listener) tell(ctx context.Context, method string, params []byte) error {
	params = jsonrpc.Set(params, l.id, "_meta", mcp.MetaSubscriptionID)
	return l.from.Notify(ctx, &jsonrpc.Notification{Method: method, Params: params})
}

// Updated tells the client that a resource or a task changed.
func (l *listener) Updated(ctx context.Context, server string, n *jsonrpc.Notification) {
	params := l.s.nameTask(server, n).Params
	if uri, ok := jsonrpc.GetString(params, "uri"); ok {
		if out := l.askedAs(server, uri); out != uri {
			params = jsonrpc.Set(params, jsonrpc.Quote(out), "uri")
		}
	}
	l.tell(ctx, n.Method, params)
}

func (l *listener) announce(ctx context.Context) {
	now := l.s.look()
	l.mu.Lock()
	was := l.announced
	l.announced = now
	l.mu.Unlock()
	for _, method := range view.Changed(was, now, l.s.modernView) {
		if l.kinds[method] {
			l.tell(ctx, method, []byte(`{}`))
		}
	}
}

func (ls *listeners) add(l *listener) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	who := l.s.opening.Who.ID
	if ls.by[who] >= maxListeners {
		return false
	}
	if ls.open == nil {
		ls.open, ls.by = make(map[*listener]struct{}), make(map[string]int)
	}
	ls.open[l] = struct{}{}
	ls.by[who]++
	return true
}

func (ls *listeners) remove(l *listener) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.open, l)
	if who := l.s.opening.Who.ID; ls.by[who] > 1 {
		ls.by[who]--
	} else {
		delete(ls.by, who)
	}
}

func (ls *listeners) announce(ctx context.Context) {
	ls.mu.Lock()
	open := make([]*listener, 0, len(ls.open))
	for l := range ls.open {
		open = append(open, l)
	}
	ls.mu.Unlock()
	for _, l := range open {
		l.announce(ctx)
	}
}
