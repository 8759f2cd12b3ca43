package peer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
)

const (
	// restorable is how old a session may be that begins again elsewhere.
	restorable = 24 * time.Hour
	// surveyWait bounds how long the others are asked about a session.
	surveyWait = time.Second
	// moves bounds how often a request looks for a new owner.
	moves = 4
	// surveyPath is where replicas are asked about a session, which is in
	// headerSession.
	surveyPath    = "/peer/v1/session"
	headerSession = "Aio-Session"
)

// A view is what a replica says of itself and of one session.
type view struct {
	Node, Boot, Address string
	Has                 bool // the session is there
	Restoring           bool // it is about to be
	Draining            bool // it takes no session
}

func (v view) owner() Owner { return Owner{v.Node, v.Boot, v.Address} }

// move finds a session whose owner is gone a new one: the replica that has it
// by now, or the first of those that live. sure says that the owner is known
// to have ended, or to end.
func (n *Node) move(w http.ResponseWriter, a *mcphttp.Away, t *ticket, gone Owner, sure bool) mcphttp.Whereabouts {
	if t.Bound || t.Line || time.Since(time.Unix(t.Time, 0)) > restorable {
		if sure {
			return mcphttp.Nowhere
		}
		return n.unavailable(w, a)
	}
	var not []string // boots that did not take it
	for range moves {
		to, ok, again := n.heir(a.Request.Context(), a.Session, gone, not)
		if !ok && again {
			continue
		}
		if !ok {
			break
		}
		if to.Boot == n.self.Boot {
			if !sure { // nobody else says so either
				break
			}
			return n.adopt(w, a, t, false)
		}
		switch n.forward(w, a, to, true) {
		case answered:
			n.moved.put(a.Session, to)
			return mcphttp.Answered
		case taken: // by one that the next look finds
		default:
			not = append(not, to.Boot)
		}
	}
	return n.unavailable(w, a)
}

func (n *Node) unavailable(w http.ResponseWriter, a *mcphttp.Away) mcphttp.Whereabouts {
	n.fail(w, a, mcp.Failure(mcp.UpstreamUnavailable, "", "the replica that has this session cannot be reached"))
	return mcphttp.Answered
}

// heir is the replica that a session belongs to when its owner is gone; again
// says that another look may find one.
func (n *Node) heir(ctx context.Context, id string, gone Owner, not []string) (to Owner, ok, again bool) {
	var best uint64
	views, silent := n.survey(ctx, id, "")
	for _, v := range views {
		if v.Boot == gone.Boot || slices.Contains(not, v.Boot) {
			continue
		}
		if v.Has {
			return v.owner(), true, false
		}
		if r := rank(id, v.Node); !v.Draining && (!ok || r > best) {
			to, best, ok = v.owner(), r, true
		}
	}
	return to, ok, silent && ctx.Err() == nil
}

// rank orders the replicas for a session, each in its own way.
func rank(id, node string) uint64 {
	sum := sha256.Sum256([]byte(id + "\x00" + node))
	return binary.BigEndian.Uint64(sum[:])
}

// adopt begins a session here that another replica lost, unless one of the
// others has it, or the owner lives after all. Where asked says that another
// replica handed the request over, that one is told where to go.
func (n *Node) adopt(w http.ResponseWriter, a *mcphttp.Away, t *ticket, asked bool) mcphttp.Whereabouts {
	release := n.restoring.enter(a.Session)
	defer release()
	if n.local.Has(a.Session) {
		return mcphttp.Here // somebody was faster
	}
	owner, _ := parseOwner(t.Owner)
	views, _ := n.survey(a.Request.Context(), a.Session, owner.Address)
	for _, v := range views {
		switch {
		case v.Boot == n.self.Boot:
		case v.Has, v.Restoring && !v.Draining && rank(a.Session, v.Node) > rank(a.Session, n.self.Node):
			if asked {
				notRun(w, notAlone)
				return mcphttp.Answered
			}
			switch n.forward(w, a, v.owner(), !v.Has) {
			case answered:
				n.moved.put(a.Session, v.owner())
				return mcphttp.Answered
			case dead: // it has given the session up meanwhile
			default:
				return n.unavailable(w, a)
			}
		}
	}
	if err := n.local.Restore(a.Request, a.Session, mcphttp.Start{
		Transport: mcphttp.TransportSession, Endpoint: a.Endpoint, Principal: a.Principal,
		Version: t.Version, Capabilities: t.Caps, ClientInfo: t.Info,
	}); err != nil {
		switch {
		case !n.draining.Load():
			n.opt.Log.Warn("session not restored", "node", owner.Node, "err", err)
			return mcphttp.Nowhere
		case asked: // this replica began to end meanwhile
			notRun(w, notNow)
			return mcphttp.Answered
		}
		return n.move(w, a, t, owner, true)
	}
	n.Counted.restored.Add(1)
	n.opt.Log.Info("session restored", "node", owner.Node)
	return mcphttp.Here
}

// survey asks all replicas that are known about a session; also is one more
// address. Who does not answer in time is left out; silent says that somebody
// did not, and may be there.
func (n *Node) survey(ctx context.Context, id, also string) (views []view, silent bool) {
	ctx, cancel := context.WithTimeout(ctx, surveyWait)
	defer cancel()
	views = []view{n.view(id)}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, address := range n.Others.addresses(ctx, also) {
		all.Go(func() {
			v, err := n.ask(ctx, address, id)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || v.Boot == n.self.Boot {
				silent = silent || err != nil && !isDead(err)
				return
			}
			if !slices.ContainsFunc(views, func(o view) bool { return o.Boot == v.Boot }) {
				views = append(views, v)
			}
		})
	}
	all.Wait()
	return views, silent
}

// view is what this replica says of itself.
func (n *Node) view(id string) view {
	return view{n.self.Node, n.self.Boot, n.self.Address, n.local.Has(id), n.restoring.has(id), n.draining.Load()}
}

// ask asks one replica about a session.
func (n *Node) ask(ctx context.Context, address, id string) (v view, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+surveyPath, nil)
	if err != nil {
		return v, err
	}
	req.Header.Set(headerSession, id)
	resp, err := n.transport.RoundTrip(req)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	return v, json.NewDecoder(resp.Body).Decode(&v)
}
