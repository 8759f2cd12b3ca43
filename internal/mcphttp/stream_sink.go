package mcphttp

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"time"

	"mcp-all-in-one/internal/mcphttp/sse"
	"mcp-all-in-one/internal/weight"
)

// writeStep is how much of a response is written under one deadline.
const writeStep = weight.Step

// A carrier is the destination of events: an HTTP response, or its connection.
type carrier interface {
	Write(p []byte) (int, error)
	Flush() error
	SetWriteDeadline(t time.Time) error
}

// An answerCarrier is an HTTP response.
type answerCarrier struct {
	http.ResponseWriter
	*http.ResponseController
}

// A sink is one HTTP response that carries a stream.
type sink struct {
	out  carrier
	conn *StreamConn // out, if that is a connection
	w    http.ResponseWriter
	left <-chan struct{} // closed when the client disconnects; nil if gone covers that
	lim  *ServerLimits
	who  string // for whom unread messages count
	once sync.Once
	gone chan struct{}
	why  error       // set before gone is closed
	life *time.Timer // cuts it when its credential ends; nil if that has no end
}

func newSink(w http.ResponseWriter, client context.Context, lim *ServerLimits, who string) *sink {
	out := answerCarrier{w, http.NewResponseController(w)}
	return &sink{out: out, w: w, left: client.Done(), lim: lim, who: who, gone: make(chan struct{})}
}

// endAt cuts k when its credential ends, zero for never. It does not wait for the
// messages that are queued, which a slow reader could make endless.
func (k *sink) endAt(until time.Time) {
	if !until.IsZero() {
		k.life = time.AfterFunc(time.Until(until), func() { k.cut(errExpired) })
	}
}

// release frees what k holds. It must be called if endAt was.
func (k *sink) release() {
	if k.life != nil {
		k.life.Stop()
	}
}

// cut makes the pump of k return, even out of a blocked write.
func (k *sink) cut(why error) {
	k.once.Do(func() {
		k.why = why
		close(k.gone)
		k.out.SetWriteDeadline(time.Now())
	})
}

// untilKeepAlive is random, so that streams that were opened together do not wake
// together.
func (k *sink) untilKeepAlive() time.Duration {
	return k.lim.KeepAlive*4/5 + rand.N(k.lim.KeepAlive/5)
}

// writeFrom writes all messages that st has now.
func (k *sink) writeFrom(st *stream) (done bool, err error) {
	buf := buffers.get(0)
	defer func() { buffers.put(buf) }()
	for {
		*buf, done = st.take(k, (*buf)[:0], k.lim)
		if len(*buf) == 0 {
			return done, nil
		}
		if err := k.write(*buf); err != nil {
			return false, err
		}
	}
}

// write writes b in steps, each with its own deadline, and flushes.
func (k *sink) write(b []byte) error {
	unread := k.lim.unread(k.who, len(b))
	defer unread.Done()
	for len(b) > 0 {
		step := b[:min(len(b), writeStep)]
		b = b[len(step):]
		k.out.SetWriteDeadline(time.Now().Add(k.lim.WriteIdle))
		if k.isGone() { // cut may have set its deadline just before ours
			return k.why
		}
		if _, err := k.out.Write(step); err != nil {
			return k.reason(err)
		}
		unread.Moved()
	}
	return k.reason(k.out.Flush())
}

func (k *sink) isGone() bool { return isClosed(k.gone) }

// reason returns why a write failed: err, unless cut caused it.
func (k *sink) reason(err error) error {
	switch {
	case err == nil:
		return nil
	case k.isGone():
		return k.why
	case errors.Is(err, os.ErrDeadlineExceeded):
		k.lim.Hits.Add("writeIdle")
		return errCutOff
	}
	return err
}

var (
	typeEvents     = []string{"text/event-stream"}
	cacheNever     = []string{"no-cache, no-transform"}
	bufferingNever = []string{"no"}
)

// start sends the header of an event stream. If prime is set, it also sends an
// event with an id to resume from.
func (k *sink) start(st *stream, prime bool) error {
	eventHeader(k.w.Header())
	k.w.WriteHeader(http.StatusOK)
	if prime {
		return k.write(sse.AppendPriming(nil, st.id))
	}
	return k.out.Flush()
}

// eventHeader sets the header of an event stream.
func eventHeader(h http.Header) {
	h["Content-Type"] = typeEvents
	h["Cache-Control"] = cacheNever
	h["X-Accel-Buffering"] = bufferingNever
}
