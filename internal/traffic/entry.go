package traffic

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// An entry is a Call without pointers. Values that entries have in common are in
// tables; the bodies are in rings.
type entry struct {
	id, parent uint64
	start      int64 // nanoseconds since 1970
	total      time.Duration
	// While a call is pending, transport and server sum up the times of the calls
	// to servers that it caused.
	gateway, transport, server time.Duration
	code                       int64
	reqSize, resSize           int64
	// reqHead and resHead are the positions of the heads. While a call is
	// pending, resHead is the head of the last answer to a call that it caused.
	reqHead, resHead         int64
	who, what, reason, notes uint32
	// via is the last call that this call caused. After the end, the server of
	// via is the server of this call.
	via                        uint32
	hop, kind, status          uint8
	fromServer, bench, answers bool
}

// who identifies the caller; what identifies what was called.
type (
	who struct {
		session, client, principal, owner, schema string
		door                                      Door
	}
	what struct{ server, method, name string }
)

var (
	hops     = [...]Hop{"", HopClient, HopServer}
	kinds    = [...]Kind{"", KindCall, KindNotification}
	statuses = [...]string{"", StatusPending, StatusOK, StatusError, StatusToolError, StatusCancelled}
)

const (
	hopClient, hopServer = 1, 2
	kindCall             = 1
	pending, ok          = 1, 2
	failed, toolFailed   = 3, 4
)

// indexOf returns the index of s in values, or 0.
func indexOf[S ~string](values []S, s S) uint8 { return uint8(max(slices.Index(values, s), 0)) }

// add stores the entry of a call in place of the oldest one.
func (r *record) add(c *Call, req []byte, status uint8) *entry {
	start := c.Start
	if start.IsZero() {
		start = r.now()
	}
	if c.Status != "" {
		status = indexOf(statuses[:], c.Status)
	}
	up := r.entry(c.Parent)
	e := entry{
		id: r.ids + 1, parent: c.Parent, start: start.UnixNano(), total: c.Total,
		gateway: c.Gateway, transport: c.Transport, server: c.ServerTime, code: c.Code, reqSize: int64(len(req)),
		who: r.whoOf(c, up), what: r.whatOf(what{c.Server, c.Method, c.Name}),
		reason: r.reasonOf(c.Reason), notes: r.notesOf(c.Notes),
		hop: indexOf(hops[:], c.Hop), kind: max(indexOf(kinds[:], c.Kind), kindCall), status: status,
		fromServer: c.FromServer, bench: c.Bench, answers: c.Answers,
	}
	if len(req) > 0 {
		twin := int64(-1)
		if up != nil {
			twin = up.reqHead
		}
		e.reqHead = r.keep(e.id, Request, req, twin)
	}
	if up != nil && up.status == pending && e.hop == hopServer {
		r.what.release(up.via)
		up.via = r.what.share(e.what)
	}
	r.ids++
	at := r.calls.at(r.ids)
	if at.id != 0 {
		r.forget(at)
	}
	*at = e
	return at
}

// forget releases the table rows of an entry.
func (r *record) forget(e *entry) {
	r.who.release(e.who)
	r.what.release(e.what)
	r.what.release(e.via)
	r.reasons.release(e.reason)
	r.notes.release(e.notes)
	if len(r.whole) > 0 {
		delete(r.whole, e.id)
	}
}

// whoOf returns the row of a caller with one more reference. The parent entry
// most often has the same caller.
func (r *record) whoOf(c *Call, up *entry) uint32 {
	k := who{c.Session, c.Client, c.Principal, c.Owner, c.Schema, c.Door}
	if up != nil && r.who.rows[up.who].key == k {
		return r.who.share(up.who)
	}
	n := r.who.hold(k, hint(k.session))
	if n == 0 && k != (who{}) {
		n = r.who.add(k, struct{}{})
	}
	return n
}

func (r *record) whatOf(k what) uint32 {
	n := r.what.hold(k, hint(k.name))
	if n == 0 && k != (what{}) {
		k.name = strings.Clone(k.name)
		n = r.what.add(k, counted{})
	}
	return n
}

func (r *record) reasonOf(s string) uint32 {
	if s == "" {
		return 0
	}
	n := r.reasons.hold(s, hint(s))
	if n == 0 {
		n = r.reasons.add(s, struct{}{})
	}
	return n
}

func (r *record) notesOf(list []string) uint32 {
	if len(list) == 0 {
		return 0
	}
	k := strings.Join(list, "\x00")
	n := r.notes.hold(k, hint(k))
	if n == 0 && k != "" {
		n = r.notes.add(k, remarksOf(list))
	}
	return n
}

// callOf returns the entry as a Call.
func (r *record) callOf(e *entry) Call {
	who, what, notes := &r.who.rows[e.who].key, &r.what.rows[e.what].key, &r.notes.rows[e.notes].data
	c := Call{
		ID: e.id, Kind: kinds[e.kind], Hop: hops[e.hop], FromServer: e.fromServer, Start: time.Unix(0, e.start),
		Session: who.session, Client: who.client, Principal: who.principal, Owner: who.owner, Door: who.door, Schema: who.schema,
		Server: what.server, Method: what.method, Name: what.name,
		Status: statuses[e.status], Code: e.code, Reason: r.reasons.rows[e.reason].key, Total: e.total,
		ReqSize: e.reqSize, ResSize: e.resSize, Parent: e.parent, Notes: notes.en, NotesZH: notes.zh, Bench: e.bench, Answers: e.answers,
	}
	if e.status != pending {
		c.Server = r.serverOf(e)
		c.Gateway, c.Transport, c.ServerTime = e.gateway, e.transport, e.server
	}
	return c
}

// serverOf returns the server that a call went to. For a client's call it is
// known only at the end.
func (r *record) serverOf(e *entry) string {
	return cmp.Or(r.what.rows[e.via].key.server, r.what.rows[e.what].key.server)
}

// went records the server that a call went to.
func (r *record) went(e *entry, server string) {
	if server == r.what.rows[e.via].key.server {
		return
	}
	r.what.release(e.via)
	e.via = r.whatOf(what{server: server})
}

// size returns the size of one of the bodies.
func (e *entry) size(side Side) int64 {
	if side == Response {
		return e.resSize
	}
	return e.reqSize
}

// head returns the position of the first bytes of a body.
func (e *entry) head(side Side) span {
	at := e.reqHead
	if side == Response {
		at = e.resHead
	}
	return span{at, min(e.size(side), HeadSize)}
}
