package http1

import (
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// joinedPart is how much is joined into one write on a connection without writev:
// the size of a TLS record.
const joinedPart = 16 << 10

// A rawWriter writes to a connection. It sets the deadline only when a write has to
// wait: setting it costs as much as writing.
type rawWriter struct {
	nc   net.Conn
	try  tryWriter     // nil if the connection has no file descriptor
	idle time.Duration // how long a write may wait if the handler sets no deadline; 0 is for ever

	// bufs are the buffers of the current write; they are stored in parts.
	bufs  net.Buffers
	parts [3][]byte

	mu    sync.Mutex
	due   time.Time
	armed bool // due is set on the connection
	waits bool // a write waits, or is about to
}

// A tryWriter writes what it can without waiting and removes that from bufs.
type tryWriter interface {
	tryWrite(bufs *net.Buffers) error
}

func (w *rawWriter) init(nc net.Conn, idle time.Duration) {
	w.nc, w.try, w.idle = nc, newTryWriter(nc), idle
}

// deadline sets the write deadline. It may be called while another goroutine
// writes.
func (w *rawWriter) deadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = t
	if w.waits || w.armed {
		w.armed = true
		return w.nc.SetWriteDeadline(t)
	}
	return nil
}

// reset clears the deadline of the last response.
func (w *rawWriter) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.armed {
		w.nc.SetWriteDeadline(time.Time{})
	}
	w.due, w.armed = time.Time{}, false
}

func (w *rawWriter) write(parts ...[]byte) error {
	w.gather(parts)
	defer func() { w.bufs, w.parts = nil, [3][]byte{} }()
	if len(w.bufs) == 0 {
		return nil
	}
	if w.try != nil && !w.isArmed() {
		if err := w.try.tryWrite(&w.bufs); err != nil || len(w.bufs) == 0 {
			return err
		}
	}
	if w.try == nil {
		w.join()
	}
	var err error
	for len(w.bufs) > 0 && err == nil {
		if err = w.wait(true); err == nil {
			err = w.step()
		}
	}
	if done := w.wait(false); err == nil {
		err = done
	}
	return err
}

// step writes what has one deadline: everything if the handler has set it.
func (w *rawWriter) step() error {
	if w.isArmed() {
		_, err := w.bufs.WriteTo(w.nc)
		return err
	}
	first := w.bufs[0]
	n, err := w.nc.Write(first[:min(len(first), writeStep)])
	if w.bufs[0] = first[n:]; n == len(first) {
		w.bufs = w.bufs[1:]
	}
	return err
}

func (w *rawWriter) gather(parts [][]byte) {
	w.bufs = w.parts[:0]
	for _, p := range parts {
		if len(p) > 0 {
			w.bufs = append(w.bufs, p)
		}
	}
}

// join moves the beginning of the second buffer into a short first one: a
// connection without writev, such as TLS, would send each buffer by itself.
func (w *rawWriter) join() {
	if len(w.bufs) < 2 || len(w.bufs[0]) >= joinedPart {
		return
	}
	whole := make([]byte, 0, min(joinedPart, len(w.bufs[0])+len(w.bufs[1])))
	whole = append(whole, w.bufs[0]...)
	n := cap(whole) - len(whole)
	w.bufs[0], w.bufs[1] = append(whole, w.bufs[1][:n]...), w.bufs[1][n:]
	if len(w.bufs[1]) == 0 {
		w.bufs = w.bufs[:1]
	}
}

func (w *rawWriter) isArmed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.armed
}

func (w *rawWriter) wait(waits bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = waits
	due := w.due
	switch {
	case w.armed:
		return nil
	case !due.IsZero():
		w.armed = true
	case w.idle == 0:
		return nil
	case waits:
		due = time.Now().Add(w.idle) // the next write that waits has another
	}
	return w.nc.SetWriteDeadline(due)
}

// A stamp is the Date field for one second.
type stamp struct {
	made  time.Time
	rest  time.Duration // time left in that second
	field []byte
}

var stamped atomic.Pointer[stamp]

func appendDate(dst []byte) []byte {
	s := stamped.Load()
	if s == nil || time.Since(s.made) >= s.rest { // time.Since costs half of time.Now
		now := time.Now()
		next := now.Truncate(time.Second).Add(time.Second)
		s = &stamp{now, next.Sub(now.Round(0)), []byte("Date: " + now.UTC().Format(http.TimeFormat) + "\r\n")}
		stamped.Store(s)
	}
	return append(dst, s.field...)
}

func appendStatus(dst []byte, status int) []byte {
	if status == http.StatusOK {
		return append(dst, "HTTP/1.1 200 OK\r\n"...)
	}
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, ' ')
	dst = append(dst, http.StatusText(status)...)
	return append(dst, "\r\n"...)
}

// appendField appends a header field. It replaces control characters with spaces.
func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	for i := range len(value) {
		c := value[i]
		if c < ' ' && c != '\t' || c == 0x7f {
			c = ' '
		}
		dst = append(dst, c)
	}
	return append(dst, "\r\n"...)
}
