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
	// restorable is the maximum age of a session that is restored elsewhere.
	restorable = 24 * time.Hour
	// surveyWait bounds how long the other replicas are asked about a session.
	surveyWait = time.Second
	// moves bounds how often a request looks for a new owner.
	moves = 4
	// surveyPath is the URL path for asking a replica about the session in
	// headerSession.
	surveyPath    = "/peer/v1/session"
	headerSession = "Aio-Session"
)

// A view is the state of a replica and of one session there.
type view struct {
	Node, Boot, Address string
	Has                 bool // the session is there
	Restoring           bool // it is being restored there
	Draining            bool // the replica accepts no sessions
	Wants               mcphttp.Wants
}

func (v view) owner() Owner { return Owner{v.Node, v.Boot, v.Address} }

// move finds a new owner for a session whose owner is lost: the replica that has
// the session by now, or else the highest-ranked living replica. sure says that the
// owner is known to have stopped or to be stopping.
func (n *Node) move(w http.ResponseWriter, a *mcphttp.Away, t *ticket, gone Owner, sure bool) mcphttp.Whereabouts {
	if t.Bound || t.Line || time.Since(time.Unix(t.Time, 0)) > restorable {
		if sure {
			return mcphttp.Nowhere
		}
		return n.unavailable(w, a)
	}
	var not []string // boots of replicas that did not accept the request
	for range moves {
		to, ok, again := n.heir(a.Request.Context(), a.Session, gone, not)
		if !ok && again {
			continue
		}
		if !ok {
			break
		}
		if to.Boot == n.self.Boot {
			if !sure { // no other replica has confirmed it
				break
			}
			return n.adopt(w, a, t, false)
		}
		switch n.forward(w, a, to, true) {
		case answered:
			n.moved.put(a.Session, to)
			return mcphttp.Answered
		case taken: // the next survey finds its owner
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

// heir returns the replica that a session belongs to if its owner is lost. again
// says that another survey may find one.
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
		if r := rank(id, v.owner()); !v.Draining && (!ok || r > best) {
			to, best, ok = v.owner(), r, true
		}
	}
	return to, ok, silent && ctx.Err() == nil
}

// rank orders the replicas for a session, differently for each session. Replicas
// without a peer port are last: they are slower, and come and go.
func rank(id string, o Owner) uint64 {
	sum := sha256.Sum256([]byte(id + "\x00" + o.Node))
	r := binary.BigEndian.Uint64(sum[:]) >> 1
	if !isCarried(o.Address) {
		r |= 1 << 63
	}
	return r
}

// adopt restores a session here that another replica lost, unless another replica
// has it or its owner is alive after all. asked says that another replica forwarded
// the request; then that replica is told to look elsewhere.
func (n *Node) adopt(w http.ResponseWriter, a *mcphttp.Away, t *ticket, asked bool) mcphttp.Whereabouts {
	release := n.restoring.enter(a.Session)
	defer release()
	if n.local.Has(a.Session) {
		return mcphttp.Here // another request was faster
	}
	owner, _ := parseOwner(t.Owner)
	views, _ := n.survey(a.Request.Context(), a.Session, Reach(n, owner))
	var wants mcphttp.Wants
	for _, v := range views {
		if v.Wants.Bound || v.Wants.Turn > wants.Turn && !wants.Bound {
			wants = v.Wants
		}
		switch {
		case v.Boot == n.self.Boot:
		case v.Has, v.Restoring && !v.Draining && rank(a.Session, v.owner()) > rank(a.Session, n.self):
			if asked {
				notRun(w, notAlone)
				return mcphttp.Answered
			}
			switch n.forward(w, a, v.owner(), !v.Has) {
			case answered:
				n.moved.put(a.Session, v.owner())
				return mcphttp.Answered
			case dead: // it has given up the session meanwhile
			default:
				return n.unavailable(w, a)
			}
		}
	}
	if wants.Bound {
		return mcphttp.Nowhere
	}
	if err := n.local.Restore(a.Request, a.Session, mcphttp.Start{
		Transport: mcphttp.TransportSession, Endpoint: a.Endpoint, Principal: a.Principal,
		Version: t.Version, Capabilities: t.Caps, ClientInfo: t.Info, Wants: wants,
	}); err != nil {
		switch {
		case !n.draining.Load():
			n.opt.Log.Warn("session not restored", "node", owner.Node, "err", err)
			return mcphttp.Nowhere
		case asked: // this replica began to stop meanwhile
			notRun(w, notNow)
			return mcphttp.Answered
		}
		return n.move(w, a, t, owner, true)
	}
	n.Counted.restored.Add(1)
	n.opt.Log.Info("session restored", "node", owner.Node)
	return mcphttp.Here
}

// survey asks all known replicas, and the address also, about a session. Replicas
// that do not answer in time are left out; silent says that one of those may be
// alive.
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

// view returns the state of this replica.
func (n *Node) view(id string) view {
	return view{n.self.Node, n.self.Boot, n.self.Address, n.local.Has(id), n.restoring.has(id), n.draining.Load(), n.Wanted.get(id)}
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
