package httpclient

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// A timedConn knows how long its connection took to open. That is one round trip:
// the best estimate without sending a request.
type timedConn struct {
	*net.TCPConn
	roundTrip time.Duration
}

// A stopwatch measures one POST for a Trip.
type stopwatch struct {
	trip  *jsonrpc.Trip
	hooks httptrace.ClientTrace

	// The hooks of net/http run in its own goroutines, some after the response has
	// arrived.
	mu              sync.Mutex
	left            time.Time
	wrote, answered time.Time
	roundTrip       time.Duration
}

// startWatch returns a stopwatch and a context that triggers it; nil and ctx if
// trip is nil.
func startWatch(ctx context.Context, trip *jsonrpc.Trip) (*stopwatch, context.Context) {
	if trip == nil {
		return nil, ctx
	}
	w := &stopwatch{trip: trip, left: trip.Leave()}
	w.hooks.GotConn = w.gotConn
	w.hooks.WroteRequest = func(httptrace.WroteRequestInfo) { w.note(&w.wrote) }
	w.hooks.GotFirstResponseByte = func() { w.note(&w.answered) }
	return w, httptrace.WithClientTrace(ctx, &w.hooks)
}

func (w *stopwatch) gotConn(info httptrace.GotConnInfo) {
	conn := info.Conn
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if c, ok := conn.(*timedConn); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.roundTrip = c.roundTrip
	}
}

func (w *stopwatch) note(at *time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at.IsZero() {
		*at = time.Now()
	}
}

// stop adds the time that the POST spent in transit: until it was written, one
// round trip, and reading the body if it is no stream. For a stream, it is unknown
// when the response began to arrive.
func (w *stopwatch) stop(streamed bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wrote.IsZero() {
		if w.answered.IsZero() { // it never reached the server
			w.trip.Carry(time.Since(w.left))
		}
		return
	}
	w.trip.Carry(w.wrote.Sub(w.left))
	if w.answered.IsZero() {
		return
	}
	w.trip.Carry(min(w.roundTrip, w.answered.Sub(w.wrote)))
	if !streamed {
		w.trip.Carry(time.Since(w.answered))
	}
}
