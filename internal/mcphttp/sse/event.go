// Package sse reads and writes event streams (text/event-stream).
package sse

import (
	"bytes"
	"io"
	"strconv"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// An Event is one event of a text/event-stream.
type Event struct {
	// Name is the event field; "" means "message".
	Name string
	// ID is the id field; HasID is true if there is one, even if empty.
	ID    string
	HasID bool
	// Retry is the retry field; zero when absent.
	Retry time.Duration
	// Data is the data field, its lines joined by newlines. It is valid until
	// the next call of Next.
	Data []byte
}

const (
	maxEventID     = 8 << 10
	maxEventFields = 16 << 10 // room for everything that is not data
	EventBuffer    = 4 << 10
)

// A LimitError says that a field of an event is too long.
type LimitError struct {
	What  string
	Limit int
}

func (e *LimitError) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *LimitError) In(l i18n.Lang) string {
	return i18n.New("%s of an event is longer than %d bytes", "事件的 %s 超过 %d 字节", e.What, e.Limit).In(l)
}

// An EventReader reads text/event-stream. Its memory stays below the limit whatever
// the peer sends.
type EventReader struct {
	r   io.Reader
	max int
	// buf[pos:] is unread; buf[first:] belongs to the event being read.
	Buf        []byte
	Grow       func(b []byte, size int) []byte // moves b to a larger buffer; nil allocates a new one
	first, pos int
	scanned    int // buf[pos:scanned] has no line end
	Err        error

	begun     bool // a field was read since the last event
	lines     int  // data lines
	from, to  int  // position of the first data line in buf
	joined    []byte
	ev        Event
	skipLF    bool // the last line ended in CR: a following LF belongs to it
	skipping  bool // inside an event that is over the limit
	pastStart bool
}

// NewEventReader returns a reader for events whose data has at most max bytes.
func NewEventReader(r io.Reader, max int64) *EventReader {
	return &EventReader{r: r, max: int(max)}
}

// Next returns the next event that has at least one field. It returns io.EOF at a
// clean end and io.ErrUnexpectedEOF if the stream ends inside an event. For an
// event over the limit it returns a *jsonrpc.FrameError; the next call continues
// after that event.
func (r *EventReader) Next() (Event, error) {
	r.begun, r.lines, r.joined, r.ev = false, 0, nil, Event{}
	r.first = r.pos
	if r.skipping {
		if err := r.skipEvent(); err != nil {
			return Event{}, err
		}
	}
	for {
		line, start, err := r.line()
		if err != nil {
			if err == io.EOF && (r.begun || len(r.Buf) > r.pos) {
				err = io.ErrUnexpectedEOF
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if !r.begun {
				r.first = r.pos
				continue
			}
			r.ev.Data = r.joined
			if r.lines == 1 {
				r.ev.Data = r.Buf[r.from:r.to]
			}
			if len(r.ev.Data) > r.max {
				return Event{}, oversize(r.ev.Data)
			}
			return r.ev, nil
		}
		if err := r.field(line, start); err != nil {
			return Event{}, err
		}
		if !r.begun {
			r.first = r.pos // a comment: keep-alives must not add up
		}
	}
}

// Keep gives the data of the last event to the caller: the reader continues with a
// new buffer.
func (r *EventReader) Keep() {
	r.Buf = append([]byte(nil), r.Buf[r.pos:]...)
	r.scanned -= r.pos
	r.first, r.pos = 0, 0
}

func (r *EventReader) field(line []byte, start int) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	skip := len(name) + 1
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
		skip++
	}
	switch string(name) {
	case "data":
		r.data(value, min(start+skip, start+len(line)))
	case "event":
		r.ev.Name = eventName(value)
	case "id":
		if len(value) > maxEventID {
			return &LimitError{What: "id", Limit: maxEventID}
		}
		if bytes.IndexByte(value, 0) < 0 {
			r.ev.ID, r.ev.HasID = string(value), true
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			r.ev.Retry = time.Duration(ms) * time.Millisecond
		}
	default:
		return nil
	}
	r.begun = true
	return nil
}

func (r *EventReader) data(value []byte, start int) {
	switch r.lines {
	case 0:
		r.from, r.to = start, start+len(value)
	case 1:
		r.joined = append(r.joined, r.Buf[r.from:r.to]...)
		fallthrough
	default:
		r.joined = append(append(r.joined, '\n'), value...)
	}
	r.lines++
}

func eventName(value []byte) string {
	switch string(value) {
	case "message":
		return "message"
	case "endpoint":
		return "endpoint"
	}
	return string(value[:min(len(value), 256)])
}

// line returns the next line without its line end, and its position in buf.
func (r *EventReader) line() (line []byte, start int, err error) {
	for {
		if r.skipLF && r.pos < len(r.Buf) {
			r.skipLF = false
			if r.Buf[r.pos] == '\n' {
				r.pos++
			}
		}
		r.scanned = max(r.scanned, r.pos)
		if end := endOfLine(r.Buf[r.scanned:]); end >= 0 && !r.skipLF {
			end += r.scanned
			start = r.pos
			r.pos, r.skipLF = end+1, r.Buf[end] == '\r'
			r.pastStart = true
			return r.Buf[start:end], start, nil
		}
		r.scanned = len(r.Buf)
		if len(r.Buf)-r.first > r.max+maxEventFields {
			return nil, 0, r.tooLarge()
		}
		if err := r.fill(); err != nil {
			return nil, 0, err
		}
	}
}

func (r *EventReader) tooLarge() error {
	r.skipping = true
	whole := r.Buf[r.first:]
	if _, data, ok := bytes.Cut(whole, []byte("data:")); ok {
		whole = bytes.TrimPrefix(data, []byte{' '})
	}
	return oversize(whole)
}

func oversize(data []byte) error {
	head := bytes.Clone(data[:min(len(data), 4<<10)])
	return &jsonrpc.FrameError{Size: int64(len(data)), Head: head, Reason: i18n.New("event over the limit", "事件超过大小限制")}
}

func endOfLine(b []byte) int {
	end := bytes.IndexByte(b, '\n')
	if end >= 0 {
		b = b[:end]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return end
}

// skipEvent skips to the blank line after an event that is over the limit.
func (r *EventReader) skipEvent() error {
	var last byte // 0 inside a line
	for {
		for r.pos < len(r.Buf) {
			b := r.Buf[r.pos]
			r.pos++
			if b != '\n' && b != '\r' {
				last = 0
				continue
			}
			if last == b || last == '\n' { // LF LF, CR CR, or the LF CR of a blank CRLF line
				r.skipping, r.skipLF = false, b == '\r'
				r.first, r.scanned = r.pos, r.pos
				return nil
			}
			last = b
		}
		r.first, r.scanned = r.pos, r.pos
		if err := r.fill(); err != nil {
			return err
		}
	}
}

// fill appends more bytes to the buffer.
func (r *EventReader) fill() error {
	if r.Err != nil {
		return r.Err
	}
	if r.first > 0 && (r.first == len(r.Buf) || len(r.Buf) == cap(r.Buf)) {
		n := copy(r.Buf, r.Buf[r.first:])
		r.Buf = r.Buf[:n]
		for _, at := range []*int{&r.pos, &r.scanned, &r.from, &r.to} {
			*at -= r.first
		}
		r.first = 0
	}
	if len(r.Buf) == cap(r.Buf) {
		size := MoreRoom(len(r.Buf), r.max+maxEventFields+1)
		if r.Grow != nil {
			r.Buf = r.Grow(r.Buf, size)
		} else {
			r.Buf = append(make([]byte, 0, size), r.Buf...)
		}
	}
	n, err := r.r.Read(r.Buf[len(r.Buf):cap(r.Buf)])
	r.Buf = r.Buf[:len(r.Buf)+n]
	r.Err = err
	if !r.pastStart && len(r.Buf) >= 3 { // a byte order mark
		r.pastStart = true
		if bytes.HasPrefix(r.Buf, []byte("\xef\xbb\xbf")) {
			r.pos, r.first = 3, 3
		}
	}
	if n == 0 {
		return err
	}
	return nil
}

// MoreRoom returns the next size for a buffer that is full with have bytes.
func MoreRoom(have, limit int) int { return max(EventBuffer, min(4*have, limit)) }
