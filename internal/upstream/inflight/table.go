package inflight

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/failure"
)

// A Table holds the calls in flight on one connection.
type Table struct {
	conn   Conn
	server *Server

	tokens   atomic.Uint64
	mu       sync.Mutex
	tenant   Client // the client whose roots the server was told, on a shared connection
	told     bool   // the server was told roots, of the tenant or of no client
	first    *Call  // newest first
	byToken  map[uint64]*Call
	followed followed
	// who is the principal of the calls so far, once used. mixed says that there were
	// several. A message of the server may be about any of their calls, even about one
	// that was answered long ago, so mixed stays set until the connection ends.
	who         string
	used, mixed bool
	abandoned   abandoned
	sweeping    bool
	sweepStop   *time.Timer
}

// New returns the table of a connection to a server.
func New(conn Conn, server *Server) *Table { return &Table{conn: conn, server: server} }

// Begin adds a call to the table and returns the params to send. It must be
// called before the call is written: a fast server asks before the write returns.
// apart says that the call needs its own context.
func (t *Table) Begin(ctx context.Context, peer jsonrpc.Peer, k *Call, req *jsonrpc.Request, apart bool) (context.Context, []byte) {
	now := Ticks()
	k.table, k.peer, k.Back, k.asks, k.started = t, peer, req.Back, CanAsk(req.Method), now
	k.active.Store(now)
	if _, ok := peer.(aborter); !ok || apart {
		ctx, k.cancel = context.WithCancelCause(ctx)
	}
	params := req.Params
	if req.Method == mcp.MethodTasksResult {
		k.awaits, _ = jsonrpc.GetString(params, "taskId")
	}
	if token := progressToken(params); token != nil && req.Back != nil {
		k.token = t.tokens.Add(1)
		k.original = token
		if jsonrpc.Get(params, "task") != nil {
			k.original = bytes.Clone(token) // it may outlive the request
		}
		params = jsonrpc.Set(params, strconv.AppendUint(nil, k.token, 10), "_meta", "progressToken")
	}
	t.enter(k)
	return ctx, params
}

func (t *Table) enter(k *Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k.next = t.first
	if t.first != nil {
		t.first.prev = k
	}
	t.first = k
	t.mixed = t.mixed || t.used && t.who != k.Who
	t.who, t.used = k.Who, true
	if k.token != 0 {
		if t.byToken == nil {
			t.byToken = make(map[uint64]*Call)
		}
		t.byToken[k.token] = k
	}
	if !t.sweeping {
		t.sweeping = true
		t.armSweepLocked()
	}
}

// End removes a call from the table.
func (t *Table) End(k *Call) {
	t.mu.Lock()
	if k.prev != nil {
		k.prev.next = k.next
	} else {
		t.first = k.next
	}
	if k.next != nil {
		k.next.prev = k.prev
	}
	if k.token != 0 && !k.task {
		delete(t.byToken, k.token)
	}
	if k.abandoned && !k.answered {
		t.abandoned.add(k, t.server.Limits.CallTotal)
	}
	t.mu.Unlock()
	k.open.end()
	if k.cancel != nil {
		k.cancel(nil)
	}
}

// Stop stops the timer that looks for calls past their limits.
func (t *Table) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sweepStop != nil {
		t.sweepStop.Stop()
	}
}

// Busy reports whether any call is in flight.
func (t *Table) Busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first != nil
}

// CanAsk reports whether a server may ask questions while it works on this
// method.
func CanAsk(method string) bool {
	return method == mcp.MethodToolsCall || method == mcp.MethodPromptsGet || method == mcp.MethodResourcesRead
}

// progressToken returns the raw token in params, or nil.
func progressToken(params []byte) []byte {
	if !bytes.Contains(params, []byte("progressToken")) && bytes.IndexByte(params, '\\') < 0 {
		return nil
	}
	return jsonrpc.Get(params, "_meta", "progressToken")
}

const (
	sweepEvery = time.Second
	// stuckAfter is how long an aborted call may take to return.
	stuckAfter = 5 * time.Second
)

// armSweepLocked schedules the next search for calls past their limits, once a
// second while there are calls. This needs no timer per call, and none while
// idle.
func (t *Table) armSweepLocked() {
	if t.sweepStop == nil {
		t.sweepStop = time.AfterFunc(sweepEvery, t.sweep)
		return
	}
	t.sweepStop.Reset(sweepEvery)
}

func (t *Table) sweep() {
	now := Ticks()
	hard := t.server.Limits.CallTotal
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := t.first; k != nil; k = k.next {
		err := k.expired(now, hard)
		switch {
		case err == nil:
		case k.overdue == 0:
			k.overdue = now
			t.server.Hits.Add(map[bool]string{true: "callTotal", false: "callIdle"}[err == failure.ErrLong])
			k.abort(err)
		case time.Duration(now-k.overdue) > stuckAfter:
			t.conn.GiveUp()
		}
	}
	if t.first == nil {
		t.sweeping = false
		return
	}
	t.armSweepLocked()
}

// Only returns the one call in flight for which fits is true; nil if there are
// none or several.
func (t *Table) Only(fits func(*Call) bool) *Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *Call
	for k := t.first; k != nil; k = k.next {
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

// Newest returns the newest call in flight for which fits is true, or nil.
func (t *Table) Newest(fits func(*Call) bool) *Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := t.first; k != nil; k = k.next {
		if fits(k) {
			return k
		}
	}
	return nil
}

// ofClient returns k and the other calls in flight of its client.
func (t *Table) ofClient(k *Call) []*Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := []*Call{k}
	for other := t.first; other != nil; other = other.next {
		if other != k && other.Client == k.Client && other.Remote == k.Remote {
			calls = append(calls, other)
		}
	}
	return calls
}

// WithToken returns the call with the given progress token, or nil.
func (t *Table) WithToken(raw []byte) *Call {
	n, ok := jsonrpc.OwnNumber(raw)
	if !ok {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byToken[n]
}
