package listen

import (
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// Acknowledged records that the server acknowledged the latest request. Over a
// pipe only the order tells which request is meant, so once an acknowledgement has been
// late, it is not known which resources one leaves out.
func (n *Listener) Acknowledged(params []byte) {
	if n == nil {
		return
	}
	if g := n.latest.Load(); g != nil {
		var left map[string]bool
		if !n.late.Load() {
			left = leftOut(g.params, params)
		}
		g.acknowledge(left)
	}
}

func (g *listening) acknowledge(left map[string]bool) {
	g.once.Do(func() {
		g.left = left
		close(g.acked)
	})
}

// confirmed waits for the acknowledgement and reports whether it arrived. It does not
// wait ackWait twice for a server that sends none.
func (g *listening) confirmed() bool {
	wait := ackWait
	if g.listener.late.Load() {
		wait = listenGrace
	}
	select {
	case <-g.acked:
		return true
	case <-g.done:
	case <-g.listener.ctx.Done():
	case <-time.After(wait):
	}
	return false
}

// alive reports whether the server has not answered the request.
func (g *listening) alive() bool {
	select {
	case <-g.done:
		return false
	default:
		return true
	}
}

// Refuses reports whether the server does not send the updates of a resource, according
// to the last request that it confirmed. If it refused the whole request, whole is its
// error.
func (n *Listener) Refuses(uri string) (refused bool, whole *jsonrpc.Error) {
	if n == nil {
		return false, nil
	}
	n.mu.Lock()
	g := n.last
	n.mu.Unlock()
	if g == nil {
		return false, nil
	}
	select {
	case <-g.acked:
		return g.left[uri], nil
	default:
	}
	if g.alive() {
		return false, nil
	}
	return g.refusal != nil, g.refusal
}

// leftOut returns the resources of a request that an acknowledgement leaves out: a server
// does not send their updates. One that says nothing about its subscriptions leaves
// out none, and neither does one that has as many, though it writes them otherwise.
func leftOut(request, ack []byte) map[string]bool {
	honoured := jsonrpc.Get(ack, "notifications")
	if len(honoured) == 0 || honoured[0] != '{' {
		return nil
	}
	left := make(map[string]bool)
	for uri := range texts(jsonrpc.Get(request, "notifications", "resourceSubscriptions")) {
		left[uri] = true
	}
	given := texts(jsonrpc.Get(honoured, "resourceSubscriptions"))
	if len(given) >= len(left) {
		return nil
	}
	for uri := range given {
		delete(left, uri)
	}
	return left
}

// texts returns the texts in a JSON array.
func texts(array []byte) map[string]bool {
	set := make(map[string]bool)
	for raw := range jsonrpc.Elements(array) {
		if text, ok := jsonrpc.Text(raw); ok {
			set[text] = true
		}
	}
	return set
}

// Params returns params that subscribe to the changes of all lists, of the given
// resources and of the given tasks.
func Params(uris, tasks []string) []byte {
	params := []byte(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`)
	return withIDs(withIDs(params, "resourceSubscriptions", uris), "taskIds", tasks)
}

// withIDs adds a filter with the given ids to the requested notifications.
func withIDs(params []byte, filter string, ids []string) []byte {
	if len(ids) == 0 {
		return params
	}
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, jsonrpc.Quote(id)...)
	}
	return jsonrpc.Set(params, append(list, ']'), "notifications", filter)
}
