package wire

import (
	"bytes"
	"slices"
	"sync"
	"time"
)

const (
	// headRoom is what stands free in front of a text for the usual head.
	headRoom = 192
	// maxAround is how much may stand around a text that is not copied.
	maxAround = 64
)

// A room is memory for one answer. It is used again as soon as that is written:
// then it is near.
type room struct{ buf []byte }

var rooms = sync.Pool{New: func() any { return &room{make([]byte, 0, 2<<10)} }}

// Room implements LaneWriter.
func (a *answer) Room(n int) []byte {
	if n += headRoom; a.ready != nil {
		return make([]byte, 0, n) // the answer stands in ours
	}
	if a.room == nil {
		a.room = rooms.Get().(*room)
	}
	if cap(a.room.buf) < n {
		a.room.buf = make([]byte, 0, n)
	}
	return a.room.buf[headRoom:headRoom:cap(a.room.buf)]
}

func (a *answer) leaveRoom() {
	if r := a.room; r != nil && cap(r.buf) <= kept {
		rooms.Put(r)
	}
	a.room = nil
}

// JSON implements LaneWriter.
func (a *answer) JSON(status int, within time.Duration, text []byte) {
	head, ok := a.headFor(status, within, len(text))
	if !ok {
		return
	}
	if start := headRoom - len(head); start >= 0 && a.inRoom(text) {
		a.ready = a.room.buf[:headRoom+len(text)][start:]
		copy(a.ready, head)
		return
	}
	a.ready = append(head, text...)
}

// headFor begins the one whole answer; false when there is one already.
func (a *answer) headFor(status int, within time.Duration, length int) ([]byte, bool) {
	if a.status != 0 {
		return nil, false
	}
	a.status, a.length, a.sent = status, int64(length), int64(length)
	a.raw.within = within
	return a.appendHead(append(appendStatus(a.scratch[:0], status), "Content-Type: application/json\r\n"...)), true
}

// JSONAround implements LaneWriter.
func (a *answer) JSONAround(status int, within time.Duration, before, text, after []byte, free func()) {
	head, ok := a.headFor(status, within, len(before)+len(text)+len(after))
	if !ok {
		free()
		return
	}
	a.ready = append(head, before...)
	a.text, a.free = text, free
	a.after = append(a.end[:0], after...)
}

// inRoom says that a text was built in the memory that Room returned.
func (a *answer) inRoom(text []byte) bool {
	return len(text) > 0 && a.room != nil && cap(a.room.buf) >= headRoom+len(text) && &a.room.buf[:headRoom+1][headRoom] == &text[0]
}

// writeNow writes what it can of a whole answer without waiting. What is left
// stands in our own memory, so that nobody who lent some waits for the client.
func (a *answer) writeNow() error {
	if !a.raw.canTry() {
		return nil
	}
	rest, err := a.raw.writeNow(a.ready, a.text, a.after)
	switch len(rest) {
	case 0:
		a.ready = a.ready[:0]
	case 1:
		a.ready = bytes.Clone(rest[0])
	default:
		a.ready = slices.Concat(rest...)
	}
	a.text, a.after = nil, nil
	a.giveBack()
	return err
}

func (a *answer) giveBack() {
	if a.free != nil {
		a.free()
		a.free = nil
	}
}
