// Package natsengine implements cluster.Engine with NATS: buckets are key-value
// buckets of JetStream, messages are core NATS messages. A Carrier makes
// connections to replicas that cannot be reached directly. Nothing is dialled
// before Open and OpenCarrier.
package natsengine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/i18n"
)

const (
	// copies is how many NATS servers store a value, if there are that many.
	copies = 3
	// markers is how long the marker of a removed value is kept.
	markers = time.Minute
	// retry is the pause before a lost connection is dialled again.
	retry = time.Second
	// ping is how often a connection is checked, and lostPings how many checks
	// may fail: a laptop that has changed its network must connect again.
	ping      = 10 * time.Second
	lostPings = 3
)

// Options are the options of Open.
type Options struct {
	Cluster string // name of the cluster, part of the names of buckets and subjects
	Node    string // name of the connection in NATS
	URLs    []string
	Creds   string // path of a file; may be empty
	Log     *slog.Logger
}

// An Engine is a connection to NATS.
type Engine struct {
	name    string
	urls    []string
	why     atomic.Pointer[error] // why the connection was not made at the last attempt
	conn    *nats.Conn
	js      jetstream.JetStream
	ctx     context.Context // ends with the engine
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	buckets map[string]jetstream.KeyValue // the opened ones
}

// Open connects to NATS. It may wait a few seconds, and succeeds even if NATS
// is not reachable: the connection is made in the background, also after it was
// lost.
func Open(opt Options) (*Engine, error) {
	e := &Engine{name: opt.Cluster, urls: opt.URLs, buckets: map[string]jetstream.KeyValue{}}
	var err error
	if e.conn, err = connect(opt, nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { opt.Log.Debug("connection to NATS lost", "err", err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { e.why.Store(&err) })); err != nil {
		return nil, err
	}
	if e.js, err = jetstream.New(e.conn); err != nil {
		e.conn.Close()
		return nil, i18n.Errorf("using NATS: %w", "使用 NATS 失败：%w", err)
	}
	e.ctx, e.end = context.WithCancel(context.Background())
	return e, nil
}

// connect connects to NATS, in the background if NATS is not reachable.
func connect(opt Options, more ...nats.Option) (*nats.Conn, error) {
	options := append([]nats.Option{
		nats.Name("mcp-all-in-one " + opt.Node), nats.CustomInboxPrefix(subject(opt.Cluster, "_inbox")),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(retry), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(ping), nats.MaxPingsOutstanding(lostPings),
		nats.ReconnectBufSize(-1), // a message that cannot be sent now fails: it would be outdated later
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { opt.Log.Debug("NATS", "err", err) }),
	}, more...)
	if opt.Creds != "" {
		options = append(options, nats.UserCredentials(opt.Creds))
	}
	conn, err := nats.Connect(strings.Join(opt.URLs, ","), options...)
	if err != nil {
		return nil, i18n.Errorf("connecting to NATS, cluster.nats: %w", "连接 NATS（cluster.nats）失败：%w", err)
	}
	return conn, nil
}

// Close ends all watches and the connection. The connection is closed first:
// that also ends watches that are being renewed because NATS has just come
// back.
func (e *Engine) Close() {
	e.end()
	e.conn.Close()
	e.running.Wait()
}

// Get returns a value.
func (e *Engine) Get(ctx context.Context, bucket, key string) (cluster.Value, error) {
	kv, err := e.bucket(ctx, bucket)
	if err != nil {
		return cluster.Value{}, err
	}
	entry, err := kv.Get(ctx, encode(key))
	if err != nil {
		return cluster.Value{}, e.failed(bucket, err)
	}
	return cluster.Value{Key: key, Data: entry.Value(), Revision: entry.Revision()}, nil
}

// Put writes a value.
func (e *Engine) Put(ctx context.Context, bucket, key string, data []byte, revision uint64, ttl time.Duration) (uint64, error) {
	kv, err := e.bucket(ctx, bucket)
	if err != nil {
		return 0, err
	}
	if revision == 0 {
		var options []jetstream.KVCreateOpt
		if ttl > 0 {
			options = append(options, jetstream.KeyTTL(ttl))
		}
		fresh, err := kv.Create(ctx, encode(key), data, options...)
		return fresh, e.failed(bucket, err)
	}
	// Update of the client library has no TTL, so the message is published
	// directly in the same form.
	options := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(revision)}
	if ttl > 0 {
		options = append(options, jetstream.WithMsgTTL(ttl))
	}
	ack, err := e.js.PublishMsg(ctx, &nats.Msg{Subject: "$KV." + e.bucketName(bucket) + "." + encode(key), Header: nats.Header{}, Data: data}, options...)
	if err != nil {
		return 0, e.failed(bucket, err)
	}
	return ack.Sequence, nil
}

// Delete removes a value.
func (e *Engine) Delete(ctx context.Context, bucket, key string, revision uint64) error {
	if revision == 0 { // revision 0 would match any revision
		return cluster.ErrConflict
	}
	kv, err := e.bucket(ctx, bucket)
	if err != nil {
		return err
	}
	return e.failed(bucket, kv.Purge(ctx, encode(key), jetstream.LastRevision(revision), jetstream.PurgeTTL(markers)))
}

// Watch watches values.
func (e *Engine) Watch(ctx context.Context, bucket, prefix string, see func(cluster.Value)) error {
	kv, err := e.bucket(ctx, bucket)
	if err != nil {
		return err
	}
	ctx, stop := e.within(ctx)
	w, err := kv.Watch(ctx, encode(prefix)+">")
	if err != nil {
		stop()
		return e.failed(bucket, err)
	}
	context.AfterFunc(ctx, func() { w.Stop() }) // on a closed connection there is no watch to stop
	e.running.Go(func() {
		defer stop()
		present := true
		for entry := range w.Updates() { // until it is closed: the sender must not block on us
			switch {
			case ctx.Err() != nil:
			case entry == nil:
				present = false
				see(cluster.Value{})
			case entry.Operation() == jetstream.KeyValuePut:
				see(cluster.Value{Key: decode(entry.Key()), Data: entry.Value(), Revision: entry.Revision()})
			case !present:
				see(cluster.Value{Key: decode(entry.Key()), Revision: entry.Revision(), Deleted: true})
			}
		}
	})
	return nil
}

// within returns a context that also ends with the engine.
func (e *Engine) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// failed converts an error of NATS to an error of the Engine interface. After
// any other error the bucket is opened again: it may have been lost with the
// memory of a server.
func (e *Engine) failed(bucket string, err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return cluster.ErrNone
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch),
		errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant):
		return cluster.ErrConflict
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.buckets, bucket)
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return e.unconnected()
	}
	return i18n.Errorf("asking NATS: %w", "访问 NATS 失败：%w", err)
}

// unconnected returns why there is no connection to NATS. The client library says of a
// connection that was refused at first that there are no servers.
func (e *Engine) unconnected() error {
	urls, why := strings.Join(e.urls, ", "), e.why.Load()
	switch {
	case why == nil:
		return i18n.Errorf("there is no connection to NATS at %s", "没有与 NATS（%s）的连接", urls)
	case errors.Is(*why, nats.ErrNoServers), errors.Is(*why, syscall.ECONNREFUSED):
		return i18n.Errorf("NATS is not reachable: connection refused by %s", "无法访问 NATS：%s 拒绝连接", urls)
	}
	return i18n.Errorf("NATS at %s is not reachable: %w", "无法访问 NATS（%s）：%w", urls, *why)
}
