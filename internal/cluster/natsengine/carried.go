package natsengine

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"mcp-all-in-one/internal/i18n"
)

// The kinds of frames. A frame is a message of NATS: its kind, a number of eight
// bytes, and data. A receiver says up to which offset the other end may send, and
// a sender says at which offset its data begins, so that lost data is noticed.
const (
	frameOpen   = 'o' // to the subject of a node: the most that may be sent to us
	frameAccept = 'a' // the most that may be sent to us
	frameData   = 'd' // the offset of the data
	frameMore   = 'm' // the most that may be sent to us by now
	frameEnd    = 'e' // the offset of the end
	frameBeat   = 'b' // nothing: this end is alive
)

const (
	frameHead = 9
	// window is how much is kept here that was not read.
	window = 1 << 20
	// maxData is the most data in a frame.
	maxData = 64 << 10
	// pendingFrames is how many frames wait to be heard. If there are more, NATS
	// drops some, and the connection breaks.
	pendingFrames = 64 << 10
	// beat is how often each end says that it is alive, and silent is how long a
	// connection lives without hearing anything. On a slow link frames of other
	// connections are sent first. The end of a process is noticed at the next
	// beat, because nothing listens to it.
	beat   = time.Second
	silent = 20 * time.Second
	// small is the size below which data of several frames is joined.
	small = 4 << 10
)

var (
	errReset    = i18n.Errorf("the other replica has closed the connection or has ended", "对方副本已关闭连接或已结束")
	errSilent   = i18n.Errorf("the other replica has been silent for %v", "对方副本已静默 %v", silent)
	errGap      = i18n.Errorf("a part of what the other replica sent through NATS is missing", "对方副本经由 NATS 发送的内容有缺失")
	errNATSLost = i18n.Errorf("the connection to NATS was lost", "与 NATS 的连接已断开")
)

var frames = sync.Pool{New: func() any { b := make([]byte, frameHead+maxData); return &b }}

// parseFrame splits a frame.
func parseFrame(m []byte) (kind byte, number uint64, data []byte, ok bool) {
	if len(m) < frameHead {
		return 0, 0, nil, false
	}
	return m[0], binary.BigEndian.Uint64(m[1:frameHead]), m[frameHead:], true
}

// A carried is one end of a connection that NATS carries. Its data is in order
// and complete, or the connection breaks. It is not secret: TLS runs over it.
type carried struct {
	carrier *Carrier
	own     string // subject to which this end listens
	sub     *nats.Subscription
	writing sync.Mutex // writes are made one after the other

	mu      sync.Mutex
	changed sync.Cond
	other   string // subject of the other end; empty before it has accepted
	unread  [][]byte
	got     uint64 // received
	read    uint64
	granted uint64 // the most that the other end may send
	sent    uint64
	most    uint64 // the most that may be sent
	heard   time.Time
	beats   *time.Timer
	ended   bool  // the other end has closed
	err     error // why the connection is broken
	closed  bool
	readBy  *deadline
	writeBy *deadline
}

// A deadline is set once; it is replaced by the next one.
type deadline struct {
	over  bool
	timer *time.Timer
}

func newCarried(c *Carrier, own string) *carried {
	one := &carried{carrier: c, own: own, granted: window, heard: time.Now(), readBy: &deadline{}, writeBy: &deadline{}}
	one.changed.L = &one.mu
	one.mu.Lock()
	defer one.mu.Unlock()
	one.beats = time.AfterFunc(beat, one.beat)
	return one
}

// begin sets the other end.
func (c *carried) begin(other string, most uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.other, c.most = other, most
	c.changed.Broadcast()
}

// dial asks for a connection, and waits until it is accepted.
func (c *carried) dial(ctx context.Context, subject string) error {
	if err := c.publish(subject, frameOpen, window, nil); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { c.fail(context.Cause(ctx)) })()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.other == "" && c.err == nil {
		c.changed.Wait()
	}
	return c.err
}

// publish sends a frame. If nothing listens there, NATS tells our own subject.
func (c *carried) publish(subject string, kind byte, number uint64, data []byte) error {
	frame := frames.Get().(*[]byte)
	defer frames.Put(frame)
	(*frame)[0] = kind
	binary.BigEndian.PutUint64((*frame)[1:], number)
	n := copy((*frame)[frameHead:], data)
	return c.carrier.conn.PublishRequest(subject, c.own, (*frame)[:frameHead+n])
}

// send sends a frame to the other end.
func (c *carried) send(kind byte, number uint64, data []byte) {
	if err := c.publish(c.other, kind, number, data); err != nil {
		c.fail(err)
	}
}

// beat tells the other end that this one is alive, and breaks the connection if
// the other end says nothing.
func (c *carried) beat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed || c.ended || c.err != nil:
		return
	case time.Since(c.heard) > silent:
		c.failLocked(errSilent)
		return
	}
	c.beats.Reset(beat)
	if c.other != "" {
		go c.send(frameBeat, 0, nil) // NATS may be slow to take it
	}
}

// fail breaks the connection.
func (c *carried) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(err)
}

func (c *carried) failLocked(err error) {
	if c.err == nil {
		c.err = err
	}
	c.changed.Broadcast()
}

// hear takes a message to our subject.
func (c *carried) hear(m *nats.Msg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now()
	kind, number, data, ok := parseFrame(m.Data)
	switch {
	case !ok: // NATS says that nothing listens
		if !c.ended {
			c.failLocked(errReset)
		}
	case kind == frameAccept:
		if c.other == "" && c.carrier.isEnd(m.Reply) {
			c.other, c.most = m.Reply, number
		}
	case m.Reply != c.other:
	case kind == frameData:
		if number != c.got || number+uint64(len(data)) > c.granted || c.ended {
			c.failLocked(errGap)
			return
		}
		c.keepLocked(data)
	case kind == frameMore:
		c.most = max(c.most, number)
	case kind == frameEnd:
		if number != c.got {
			c.failLocked(errGap)
			return
		}
		c.ended = true
	}
	c.changed.Broadcast()
}

// keepLocked keeps data that was received. Small parts are joined, so that what
// is kept takes little more memory than the window.
func (c *carried) keepLocked(data []byte) {
	c.got += uint64(len(data))
	if n := len(c.unread); n > 0 && len(data) < small {
		c.unread[n-1] = append(c.unread[n-1], data...)
	} else if len(data) > 0 {
		c.unread = append(c.unread, data)
	}
}

// Read returns what the other end has sent, and lets it send more.
func (c *carried) Read(b []byte) (int, error) {
	n, more, err := c.take(b)
	if more > 0 {
		c.send(frameMore, more, nil)
	}
	return n, err
}

func (c *carried) take(b []byte) (n int, more uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, 0, net.ErrClosed
		case c.readBy.over:
			return 0, 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, 0, nil
		case len(c.unread) > 0:
			for n < len(b) && len(c.unread) > 0 {
				part := copy(b[n:], c.unread[0])
				if n += part; part == len(c.unread[0]) {
					c.unread = c.unread[1:]
				} else {
					c.unread[0] = c.unread[0][part:]
				}
			}
			if c.read += uint64(n); c.read+window-c.granted >= window/4 {
				c.granted = c.read + window
				more = c.granted
			}
			return n, more, nil
		case c.ended:
			return 0, 0, io.EOF
		case c.err != nil:
			return 0, 0, c.err
		}
		c.changed.Wait()
	}
}

// Write sends data as far as the other end lets us.
func (c *carried) Write(b []byte) (written int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for written < len(b) {
		n, at, err := c.room(len(b) - written)
		if err != nil {
			return written, err
		}
		if err := c.publish(c.other, frameData, at, b[written:written+n]); err != nil {
			c.fail(err)
			return written, err
		}
		written += n
	}
	return written, nil
}

// room waits until some of n bytes can be sent, and returns how many, and their
// offset.
func (c *carried) room(n int) (now int, at uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, 0, net.ErrClosed
		case c.err != nil:
			return 0, 0, c.err
		case c.ended:
			return 0, 0, errReset
		case c.writeBy.over:
			return 0, 0, os.ErrDeadlineExceeded
		case c.most > c.sent:
			now = int(min(uint64(n), c.most-c.sent, c.carrier.largest()))
			at, c.sent = c.sent, c.sent+uint64(now)
			return now, at, nil
		}
		c.changed.Wait()
	}
}

// Close tells the other end that nothing more is sent or read.
func (c *carried) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return net.ErrClosed
	}
	c.closed = true
	tell, at := c.other != "" && !c.ended && c.err != errReset, c.sent
	c.beats.Stop()
	c.changed.Broadcast()
	c.mu.Unlock()
	if tell {
		c.send(frameEnd, at, nil)
	}
	c.carrier.forget(c)
	c.sub.Unsubscribe() // a closed connection has no subscription
	return nil
}

// Quiet reports whether the connection is open and has no unread data.
func (c *carried) Quiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed && c.err == nil && !c.ended && len(c.unread) == 0
}

// LocalAddr returns the subject of this end.
func (c *carried) LocalAddr() net.Addr { return carriedAddr(c.own) }

// RemoteAddr returns the subject of the other end.
func (c *carried) RemoteAddr() net.Addr { return carriedAddr(c.other) }

// SetDeadline sets both deadlines.
func (c *carried) SetDeadline(t time.Time) error {
	c.setDeadline(&c.readBy, t)
	c.setDeadline(&c.writeBy, t)
	return nil
}

// SetReadDeadline sets the deadline of Read.
func (c *carried) SetReadDeadline(t time.Time) error {
	c.setDeadline(&c.readBy, t)
	return nil
}

// SetWriteDeadline sets the deadline of Write.
func (c *carried) SetWriteDeadline(t time.Time) error {
	c.setDeadline(&c.writeBy, t)
	return nil
}

func (c *carried) setDeadline(which **deadline, t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := (*which).timer; old != nil {
		old.Stop()
	}
	fresh := &deadline{}
	*which = fresh
	if wait := time.Until(t); !t.IsZero() && wait <= 0 {
		fresh.over = true
	} else if !t.IsZero() {
		fresh.timer = time.AfterFunc(wait, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			fresh.over = true
			c.changed.Broadcast()
		})
	}
	c.changed.Broadcast()
}
