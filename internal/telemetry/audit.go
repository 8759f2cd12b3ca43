package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/logfile"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
)

const (
	auditQueue = 4096
	auditRing  = 4096 // entries kept in memory while the disk fails
	auditFlush = 200 * time.Millisecond
	auditRetry = 5 * time.Second
)

// An Entry is one line of the audit trail.
type Entry struct {
	Time time.Time `json:"time"`
	// Replica is the replica that decided on the call, in a cluster. If its client
	// is connected to another one, From is that one, and Request the client's id
	// of the request.
	Replica   string          `json:"replica,omitempty"`
	From      string          `json:"from,omitempty"`
	Request   json.RawMessage `json:"request,omitempty"`
	Principal string          `json:"principal,omitempty"`
	// Door is the way by which the call reached the gateway.
	Door    string `json:"door,omitempty"`
	Session string `json:"session,omitempty"`
	Client  string `json:"client,omitempty"`
	Schema  string `json:"schema,omitempty"`
	Server  string `json:"server,omitempty"`
	Method  string `json:"method"`
	// Name is the tool, the prompt or the URI as the client wrote it; Item is the
	// server's own name of it.
	Name string `json:"name,omitempty"`
	Item string `json:"item,omitempty"`
	// Arguments is the SHA-256 of the arguments. It can prove what was passed,
	// but does not reveal it.
	Arguments string `json:"arguments,omitempty"`
	// Script is the SHA-256 of the code that the call ran.
	Script string `json:"script,omitempty"`
	// Approval is the approval of a call that needs one.
	Approval *traffic.Yes `json:"approval,omitempty"`
	Outcome  string       `json:"outcome"`
	Code     int64        `json:"code,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	// Cached says that the answer came from the cache and no server was called.
	Cached bool `json:"cached,omitempty"`
	// Rehearsed says that a rehearsal answered and no server was called.
	Rehearsed bool    `json:"rehearsed,omitempty"`
	Millis    float64 `json:"ms"`
	ReqBytes  int64   `json:"requestBytes"`
	ResBytes  int64   `json:"responseBytes"`
	Trace     string  `json:"trace,omitempty"`
}

// An Audit writes who called what, and how the call ended, to a file that is
// rotated when it is full. Calls never wait for the disk: entries are written in
// batches. While the disk fails, they are kept in memory; if that is full, the
// oldest are dropped.
type Audit struct {
	conf    config.Audit
	replica string
	log     *slog.Logger
	queue   chan Entry
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
	dropped atomic.Int64
	failing atomic.Bool

	file *logfile.File
	ring [][]byte // lines that are not written yet
}

// NewAudit starts an audit trail. replica is the name of this replica in a cluster.
func NewAudit(conf config.Audit, replica string, log *slog.Logger) *Audit {
	a := &Audit{
		conf: conf, replica: replica, log: log, file: logfile.New(conf.File, conf.MaxSize, conf.MaxFiles),
		queue: make(chan Entry, auditQueue), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go a.run()
	return a
}

// Observe records a call, unless its method is not audited.
func (a *Audit) Observe(o *traffic.Observation) {
	if o.Hop != traffic.HopClient || !audited(o.Method) {
		return
	}
	e := Entry{
		Time: o.Start.UTC(), Principal: o.Principal, Door: string(o.Door), Session: o.Session, Client: o.Client, Schema: o.Schema, Server: o.Server,
		Method: o.Method, Name: o.Name, Item: o.Item, Outcome: o.Status, Code: o.Code, Reason: o.Reason,
		Approval: o.Yes, Cached: slices.Contains(o.Notes, traffic.Recalled), Rehearsed: slices.Contains(o.Notes, traffic.Rehearsed),
		Millis: float64(o.Total.Microseconds()) / 1000, ReqBytes: o.ReqSize, ResBytes: o.ResSize, Replica: a.replica, From: o.Forward.From,
	}
	if json.Valid([]byte(o.Forward.Request)) {
		e.Request = json.RawMessage(o.Forward.Request)
	}
	if args := jsonrpc.Get(o.Request, "arguments"); args != nil {
		sum := sha256.Sum256(args)
		e.Arguments = hex.EncodeToString(sum[:])
	}
	code, ok := o.Script, o.Script != ""
	if !ok && o.Server == "" && (o.Name == "run" || o.Name == mcp.ScriptTool) {
		code, ok = jsonrpc.GetString(o.Request, "arguments", "code")
	}
	if ok {
		sum := sha256.Sum256([]byte(code))
		e.Script = hex.EncodeToString(sum[:])
	}
	if o.Span.Trace != [16]byte{} {
		e.Trace = hex.EncodeToString(o.Span.Trace[:])
	}
	select {
	case a.queue <- e:
	default:
		a.dropped.Add(1)
	}
}

// audited leaves out routine methods that have no consequences. The resources in
// a subscriptions/listen have entries of their own.
func audited(method string) bool {
	return method != "ping" && !strings.HasSuffix(method, "/list") && !strings.HasPrefix(method, "notifications/") &&
		method != "server/discover" && method != "subscriptions/listen"
}

// Dropped returns how many entries were lost.
func (a *Audit) Dropped() int64 { return a.dropped.Load() }

// Failing reports whether writing fails, so that entries are in memory only.
func (a *Audit) Failing() bool { return a.failing.Load() }

// Close writes the remaining entries and ends the trail.
func (a *Audit) Close() {
	a.once.Do(func() { close(a.stop) })
	<-a.done
}

func (a *Audit) run() {
	defer close(a.done)
	tick := time.NewTicker(auditFlush)
	defer tick.Stop()
	var tried time.Time
	for {
		select {
		case e := <-a.queue:
			a.keep(e)
		case <-tick.C:
			if len(a.ring) > 0 && (!a.Failing() || time.Since(tried) > auditRetry) {
				tried = time.Now()
				a.flush()
			}
		case <-a.stop:
			for len(a.queue) > 0 {
				a.keep(<-a.queue)
			}
			a.flush()
			a.dropped.Add(int64(len(a.ring)))
			a.file.Close()
			return
		}
	}
}

func (a *Audit) keep(e Entry) {
	line, err := json.Marshal(e)
	if err != nil {
		a.dropped.Add(1)
		return
	}
	if len(a.ring) == auditRing {
		if !a.Failing() {
			a.flush()
		}
		if len(a.ring) == auditRing {
			a.ring = append(a.ring[:0:0], a.ring[1:]...)
			a.dropped.Add(1)
		}
	}
	a.ring = append(a.ring, append(line, '\n'))
}

// flush writes the waiting lines, until the disk fails.
func (a *Audit) flush() {
	for len(a.ring) > 0 {
		n, err := a.file.WriteLines(a.ring)
		a.ring = a.ring[n:]
		if err != nil {
			if !a.failing.Swap(true) {
				a.log.Error("audit trail cannot be written; it is kept in memory", "path", a.conf.File, "err", err)
			}
			return
		}
	}
	a.ring = nil
	if a.failing.Swap(false) {
		a.log.Info("audit trail is written again", "path", a.conf.File)
	}
}
