package upstream

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/listen"
)

// A link is one connection to one server, from the handshake to its end.
type link struct {
	up      *Upstream
	slot    *slot
	peer    jsonrpc.Peer
	closer  func(ctx context.Context) // ends the connection and waits
	spot    *Spot                     // where the server was, when it runs once in a cluster
	grace   time.Duration             // how long its calls may go on after it moved; read after done
	child   *stdio.Child              // nil over HTTP
	era     mcp.Era
	version string
	offer   mcp.Offer

	capabilities []byte // raw, as the server declared them
	info         []byte // raw serverInfo
	instructions string
	speaks       []string // every version that the server says it speaks

	loaded  *catalog.Features // what it offered when it was opened
	refresh refresher
	listen  *listen.Listener // a modern server's one subscription
	levelMu sync.Mutex
	level   string // the level that the server was told

	done     chan struct{}
	doneOnce sync.Once
	err      error // why it ended; read after done

	tenant  *Caller // whose roots it was told, on a shared connection; guarded by mu
	tokens  atomic.Uint64
	mu      sync.Mutex
	first   *call // in-flight calls, newest first
	byToken map[uint64]*call
	// followed are the calls that became tasks.
	followed followed
	// mixed says that calls of several principals have been in flight since
	// there was none. A message of the server may be about any of them, also
	// about one that has ended.
	mixed     bool
	sweeping  bool
	sweepStop *time.Timer
}

// begin enters a call into the table of those in flight. It happens before the
// call is written: a fast server asks before the write returns.
func (l *link) begin(ctx context.Context, c *Caller, req *jsonrpc.Request) (context.Context, *call, []byte) {
	now := ticks()
	k := &call{link: l, caller: c, back: req.Back, asks: canAsk(req.Method), started: now, idle: l.up.idleFor(req)}
	k.active.Store(now)
	if c.Peer {
		k.client = ClientFrom(ctx)
	}
	if k.conn, _ = l.peer.(aborter); k.conn == nil || l.era != c.Era {
		ctx, k.cancel = context.WithCancelCause(ctx)
	}
	params := req.Params
	if req.Method == mcp.MethodTasksResult {
		k.awaits, _ = jsonrpc.GetString(params, "taskId")
	}
	if token := progressToken(params); token != nil && req.Back != nil {
		k.token = l.tokens.Add(1)
		k.original = token
		if jsonrpc.Get(params, "task") != nil {
			k.original = bytes.Clone(token) // which may outlive the request
		}
		params = jsonrpc.Set(params, strconv.AppendUint(nil, k.token, 10), "_meta", "progressToken")
	}
	l.enter(k)
	return ctx, k, params
}

func (l *link) enter(k *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k.next = l.first
	if l.first != nil {
		l.first.prev = k
		l.mixed = l.mixed || l.first.caller.Principal != k.caller.Principal || l.first.client != k.client
	} else {
		l.mixed = false
	}
	l.first = k
	if k.token != 0 {
		if l.byToken == nil {
			l.byToken = make(map[uint64]*call)
		}
		l.byToken[k.token] = k
	}
	if !l.sweeping {
		l.sweeping = true
		l.armSweepLocked()
	}
}

func (l *link) end(k *call) {
	l.mu.Lock()
	if k.prev != nil {
		k.prev.next = k.next
	} else {
		l.first = k.next
	}
	if k.next != nil {
		k.next.prev = k.prev
	}
	if k.token != 0 && !k.task {
		delete(l.byToken, k.token)
	}
	l.mu.Unlock()
	k.open.end()
	if k.cancel != nil {
		k.cancel(nil)
	}
}

// progressToken is the raw token in params, nil when there is none.
func progressToken(params []byte) []byte {
	if !bytes.Contains(params, []byte("progressToken")) && bytes.IndexByte(params, '\\') < 0 {
		return nil
	}
	return jsonrpc.Get(params, "_meta", "progressToken")
}

const (
	sweepEvery = time.Second
	// stuckAfter is how long a call that was ended may take to return.
	stuckAfter = 5 * time.Second
)

var errStuck = i18n.Errorf("it does not read its input", "它不读取输入")

// unblock gives a connection up that cannot even be written to: closing it is
// what ends the write. Whoever closes the link waits for it.
func (l *link) unblock() {
	l.finish(errStuck)
	if conn, ok := l.peer.(*jsonrpc.Conn); ok {
		go conn.Close()
	}
}

// armSweepLocked looks for calls past their limits, once a second, while there
// are calls: no timer per call, and none when idle.
func (l *link) armSweepLocked() {
	if l.sweepStop == nil {
		l.sweepStop = time.AfterFunc(sweepEvery, l.sweep)
		return
	}
	l.sweepStop.Reset(sweepEvery)
}

func (l *link) sweep() {
	now := ticks()
	hard := l.up.limits.CallTotal
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := l.first; k != nil; k = k.next {
		err := k.expired(now, hard)
		switch {
		case err == nil:
		case k.overdue == 0:
			k.overdue = now
			l.up.opt.Hits.Add(map[bool]string{true: "callTotal", false: "callIdle"}[err == failure.ErrLong])
			k.abort(err)
		case time.Duration(now-k.overdue) > stuckAfter:
			l.unblock()
		}
	}
	if l.first == nil {
		l.sweeping = false
		return
	}
	l.armSweepLocked()
}

// only returns the one call in flight that fits, or nil when none or several
// do.
func (l *link) only(fits func(*call) bool) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *call
	for k := l.first; k != nil; k = k.next {
		if !fits(k) {
			continue
		}
		if found != nil {
			return nil
		}
		found = k
	}
	return found
}

// newest returns the latest call in flight that fits.
func (l *link) newest(fits func(*call) bool) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := l.first; k != nil; k = k.next {
		if fits(k) {
			return k
		}
	}
	return nil
}

func (l *link) withToken(raw []byte) *call {
	n, ok := parseToken(raw)
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byToken[n]
}

// parseToken reads a progress token of ours. Some servers send it back as a
// string.
func parseToken(raw []byte) (uint64, bool) {
	if len(raw) > 1 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	n, err := strconv.ParseUint(string(raw), 10, 64)
	return n, err == nil
}

// finish notes why the connection ended. The first reason counts.
func (l *link) finish(err error) {
	l.doneOnce.Do(func() {
		l.err = err
		close(l.done)
	})
}

func (l *link) alive() bool {
	select {
	case <-l.done:
		return false
	default:
		return true
	}
}

// has says whether the server declared a capability.
func (l *link) has(path ...string) bool {
	raw := jsonrpc.Get(l.capabilities, path...)
	return len(raw) > 0 && raw[0] != 'f' && raw[0] != 'n'
}

func (l *link) close(ctx context.Context) {
	l.mu.Lock()
	if l.sweepStop != nil {
		l.sweepStop.Stop()
	}
	l.mu.Unlock()
	l.refresh.stop()
	l.listen.Stop()
	letFinish(ctx, l)
	l.closer(ctx)
	l.finish(nil)
}
