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

// The headers between replicas. Those of clients are not passed on.
const (
	headerPrincipal = "Aio-Principal" // who asks
	headerHop       = "Aio-Hop"       // it was handed over, and is not handed on
	headerBoot      = "Aio-Boot"      // the run of the replica that it is for
	headerNotRun    = "Aio-Not-Run"   // the answer to what was not begun, and why
	headerNode      = "Aio-Node"      // who answers
	headerRestore   = "Aio-Restore"   // its session may begin anew where it is sent
)

// Reasons in headerNotRun.
const (
	notThisRun = "boot"     // the replica was started anew
	notNow     = "draining" // it is about to end
	notAlone   = "alone"    // another one has the session, or is about to
	notMine    = "epoch"    // it does not have the server, or has it in another epoch
)

const (
	dialTries = 2
	keptTries = 16
)

// An outcome is what came of handing a request over.
type outcome uint8

const (
	answered    outcome = iota // by the owner, or by us in its name
	dead                       // the owner has ended, or is about to; nothing ran
	unreachable                // it may live; nothing was sent
	taken                      // another one has the session; nothing ran
)

// Elsewhere hands a request to the replica that it belongs to.
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
	if owner.Boot == n.self.Boot && !n.draining.Load() { // ours, and it has ended
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

// arrived answers a request that another replica handed over, for a session
// that is not here.
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

// forward hands a request to a replica and answers with what that answers.
// restore lets the session begin anew there.
func (n *Node) forward(w http.ResponseWriter, a *mcphttp.Away, to Owner, restore bool) outcome {
	ctx, done := n.busy(a.Request)
	defer done()
	dials := 0
	for try := 1; ; try++ {
		began := time.Now()
		resp, err := n.transport.RoundTrip(n.request(ctx, a, to, restore))
		switch {
		case err == nil && resp.Header.Get(headerNotRun) != "":
			resp.Body.Close()
			if resp.Header.Get(headerNotRun) == notAlone {
				return taken
			}
			return dead
		case err == nil:
			defer resp.Body.Close()
			n.Counted.forwarded(to.Node, time.Since(began))
			n.copy(w, a, resp, to)
			return answered
		case a.Request.Context().Err() != nil: // nobody waits any more
			return answered
		case !notSent(err):
			n.opt.Log.Warn("replica lost", "node", to.Node, "address", to.Address, "err", err)
			if a.Request.Method != http.MethodPost {
				return dead // to ask again changes nothing
			}
			n.fail(w, a, n.Counted.lost(to))
			return answered
		case isDead(err):
			return dead
		case errors.Is(err, errClosed) && try < keptTries: // others that were kept may be closed too
		case dials+1 < dialTries:
			dials++
		default:
			n.opt.Log.Warn("replica not reached", "node", to.Node, "address", to.Address, "err", err)
			return unreachable
		}
	}
}

// notSent says that the owner has read nothing: there was no connection, it
// ended with the handshake, by which the owner refuses a certificate, or the
// owner closed it before it saw the request.
func notSent(err error) bool {
	refused := new(net.OpError)
	return errors.As(err, new(dialError)) || errors.As(err, new(*http1.NotSentError)) || errors.As(err, &refused) && refused.Op == "remote error" || errors.Is(err, errClosed)
}

// isDead says that a failed connection proves that nobody is there.
func isDead(err error) bool {
	if gone := new(net.DNSError); errors.As(err, &gone) {
		return gone.IsNotFound
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// request is the request of a client, for another replica.
func (n *Node) request(ctx context.Context, a *mcphttp.Away, to Owner, restore bool) *http.Request {
	r := a.Request
	url := *r.URL
	url.Scheme, url.Host = "https", to.Address
	req := (&http.Request{
		Method: r.Method, URL: &url, Host: to.Address, Header: make(http.Header, len(r.Header)+3), ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	for name, values := range r.Header {
		if passes(name) {
			req.Header[name] = values
		}
	}
	req.Header[headerPrincipal] = []string{principalText(access.From(r.Context()))}
	req.Header[headerHop] = []string{"1"}
	req.Header[headerBoot] = []string{to.Boot}
	if restore {
		req.Header[headerRestore] = []string{"1"}
	}
	if r.Method == http.MethodPost {
		// It may be read again only while nothing of it was sent.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(a.Body)), nil }
		req.Body, _ = req.GetBody()
		req.ContentLength = int64(len(a.Body))
	}
	return req
}

// passes says whether a header of a request is for the owner: what MCP and
// tracing need, and never a credential.
func passes(name string) bool {
	switch name {
	case "Accept", "Content-Type", mcp.HeaderLastEvent, "Traceparent", "Tracestate", "Baggage":
		return true
	}
	return strings.HasPrefix(name, "Mcp-")
}

// principalText writes a principal for a header.
func principalText(p access.Principal) string {
	text, err := json.Marshal(p)
	if err != nil {
		return "" // which is refused
	}
	return base64.RawStdEncoding.EncodeToString(text)
}
