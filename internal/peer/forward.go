package peer

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
)

// The headers between replicas. Clients' headers with these names are not passed
// on.
const (
	headerPrincipal = "Aio-Principal" // the authenticated principal
	headerHop       = "Aio-Hop"       // the request was forwarded and must not be forwarded again
	headerBoot      = "Aio-Boot"      // the boot of the replica that the request is for
	headerNotRun    = "Aio-Not-Run"   // the request was not run, and why
	headerNode      = "Aio-Node"      // the name of the replica that sends it
	headerRestore   = "Aio-Restore"   // the receiver may restore the session
)

// Reasons in headerNotRun.
const (
	notThisRun = "boot"     // the replica was restarted
	notNow     = "draining" // the replica is stopping
	notAlone   = "alone"    // another replica has the session or is restoring it
	notMine    = "epoch"    // the replica does not have the server, or in another epoch
)

const (
	dialTries = 2
	keptTries = 16
)

// An outcome is the result of forwarding a request.
type outcome uint8

const (
	answered    outcome = iota // by the owner, or by us on its behalf
	dead                       // the owner has stopped or is stopping; nothing ran
	unreachable                // the owner may be alive; nothing was sent
	taken                      // another replica has the session; nothing ran
)

// Elsewhere forwards a request to the replica that it belongs to.
func (n *Node) Elsewhere(w http.ResponseWriter, a *mcphttp.Away) mcphttp.Whereabouts {
	switch {
	case a.Session == "":
		return outside{n}.answer(w, a)
	case handedOver(a.Request.Context()):
		return n.arrived(w, a)
	}
	t, owner, ok := n.open(a)
	if !ok {
		return mcphttp.Nowhere
	}
	if later, ok := n.moved.get(a.Session); ok {
		owner = later
	}
	if owner.Boot == n.self.Boot && !n.draining.Load() { // it was ours, and it has ended
		return mcphttp.Nowhere
	}
	if !a.Read() {
		return mcphttp.Answered
	}
	came := dead
	if owner.Boot != n.self.Boot {
		came = n.forward(w, a, owner, false)
	}
	if came == answered {
		return mcphttp.Answered
	}
	return n.move(w, a, &t, owner, came == dead)
}

// arrived answers a request that another replica forwarded, for a session that is
// not here.
func (n *Node) arrived(w http.ResponseWriter, a *mcphttp.Away) mcphttp.Whereabouts {
	switch {
	case n.draining.Load():
		notRun(w, notNow)
		return mcphttp.Answered
	case a.Request.Header.Get(headerRestore) == "":
		return mcphttp.Nowhere
	}
	t, _, ok := n.open(a)
	switch {
	case !ok || t.Bound:
		return mcphttp.Nowhere
	case !a.Read():
		return mcphttp.Answered
	}
	return n.adopt(w, a, &t, true)
}

// forward sends a request to a replica and copies its response. restore allows that
// replica to restore the session.
func (n *Node) forward(w http.ResponseWriter, a *mcphttp.Away, to Owner, restore bool) outcome {
	h := n.busy(a.Request)
	defer h.done()
	dials, carrier := 0, http.RoundTripper(n.transport)
	if a.Request.Method == http.MethodGet && !a.Line && !a.Page { // a stream outside any call
		carrier = n.shared
	}
	for try := 1; ; try++ {
		began := time.Now()
		resp, err := carrier.RoundTrip(n.request(h.ctx, a, to, restore))
		switch {
		case err == nil && resp.Header.Get(headerNotRun) != "":
			resp.Body.Close()
			if resp.Header.Get(headerNotRun) == notAlone {
				return taken
			}
			return dead
		case err == nil:
			n.Counted.forwarded(to.Node, time.Since(began))
			n.copy(w, a, resp, to, &h)
			return answered
		case a.Request.Context().Err() != nil: // the client has disconnected
			return answered
		case !notSent(err):
			n.opt.Log.Warn("replica lost", "node", to.Node, "address", to.Address, "err", err)
			if a.Request.Method != http.MethodPost {
				return dead // it is safe to ask again
			}
			n.fail(w, a, n.Counted.lost(to))
			return answered
		case ended(h.ctx, n, err, to):
			return dead
		case errors.Is(err, errClosed) && try < keptTries: // other idle connections may be closed too
		case dials+1 < dialTries:
			dials++
		default:
			n.opt.Log.Warn("replica not reached", "node", to.Node, "address", to.Address, "err", err)
			return unreachable
		}
	}
}

// notSent reports whether the owner cannot have read the request: there was no
// connection, the handshake failed because the owner refused our certificate, or
// the owner closed the connection before it saw the request.
func notSent(err error) bool {
	refused := new(net.OpError)
	return errors.As(err, new(dialError)) || errors.As(err, new(*http1.NotSentError)) || errors.As(err, &refused) && refused.Op == "remote error" || errors.Is(err, errClosed)
}

// isDead reports whether a connection error proves that no replica is running
// there.
func isDead(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// ended reports whether a connection error shows that a run of a replica has ended.
// Names vanish with the replica in some networks, and are just unknown in others; a
// replica without a peer port may be about to connect again. Then its record
// decides, if there is an engine.
func ended(ctx context.Context, n *Node, err error, o Owner) bool {
	if gone := new(net.DNSError); errors.As(err, &gone) {
		return gone.IsNotFound && (n.opt.Ended == nil || n.opt.Ended(ctx, o))
	}
	return isDead(err)
}

// request returns the client's request, addressed to another replica.
func (n *Node) request(ctx context.Context, a *mcphttp.Away, to Owner, restore bool) *http.Request {
	r := a.Request
	url := *r.URL
	url.Scheme, url.Host = "https", Reach(n, to)
	req := (&http.Request{
		Method: r.Method, URL: &url, Host: url.Host, Header: make(http.Header, len(r.Header)+3), ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	for name, values := range r.Header {
		if passes(name) {
			req.Header[name] = values
		}
	}
	req.Header[headerPrincipal] = []string{principalText(access.From(r.Context()))}
	req.Header[headerHop] = []string{"1"}
	req.Header[headerBoot] = []string{to.Boot}
	req.Header[headerNode] = []string{n.self.Node}
	if restore {
		req.Header[headerRestore] = []string{"1"}
	}
	if r.Method == http.MethodPost {
		// It is read again only if nothing of it was sent.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(a.Body)), nil }
		req.Body, _ = req.GetBody()
		req.ContentLength = int64(len(a.Body))
	}
	return req
}

// passes reports whether a request header is forwarded: those of MCP, pages and
// tracing, and never a credential.
func passes(name string) bool {
	switch name {
	case "Accept", "Accept-Language", "Content-Type", mcp.HeaderLastEvent, "Traceparent", "Tracestate", "Baggage":
		return true
	}
	return strings.HasPrefix(name, "Mcp-")
}

// principalText encodes a principal for a header.
func principalText(p access.Principal) string {
	text, err := json.Marshal(p)
	if err != nil {
		return "" // the receiver refuses it
	}
	return base64.RawStdEncoding.EncodeToString(text)
}
