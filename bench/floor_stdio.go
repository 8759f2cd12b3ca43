package main

import (
	"bytes"
	"io"
	"log"
	"net"
	"runtime"
	"strconv"
	"sync"
)

// runFloorStdio passes the body of every POST on as a line to one process, and
// every line of that back: the least that anything between HTTP and a pipe can
// do. It reads no JSON and trusts that bodies are of one line; all that it knows
// of MCP is that a message without an id gets no answer.
func runFloorStdio(args []string) error {
	_, in, out, err := startPiped(args)
	if err != nil {
		return err
	}
	widen(out)
	q := &queue{in: in, parcels: make(chan parcel)}
	for range runtime.GOMAXPROCS(0) {
		go q.carry()
	}
	go func() { log.Fatal("floor-stdio: ", q.deliver(out)) }()
	return listenAndServe("127.0.0.1:0", q.serve)
}

// A queue stands before a process that answers in the order in which it is
// asked: the order is all that has to be kept.
type queue struct {
	in      io.Writer
	parcels chan parcel

	mu      sync.Mutex
	lines   []byte // not yet written
	spare   []byte
	writing bool
	asked   []net.Conn // by all lines that get an answer
	free    [][]byte   // buffers that nobody reads into

	due []net.Conn // those of asked that deliver has taken
	at  int        // whose turn it is
}

var idMember = []byte(`"id"`)

func (q *queue) serve(client net.Conn) error {
	m := newMessageReader(client)
	for {
		if err := m.next(); err != nil {
			return err
		}
		if bytes.Contains(m.body(), idMember) {
			if err := q.send(m.body(), client); err != nil {
				return err
			}
			continue
		}
		if err := q.send(m.body(), nil); err != nil {
			return err
		}
		if _, err := io.WriteString(client, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"); err != nil {
			return err
		}
	}
}

// send queues a line. Whoever finds nobody writing writes all that is queued.
func (q *queue) send(line []byte, client net.Conn) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines = append(append(q.lines, line...), '\n')
	if client != nil {
		q.asked = append(q.asked, client)
	}
	if q.writing {
		return nil
	}
	q.writing = true
	defer func() { q.writing = false }()
	for len(q.lines) > 0 {
		lines := q.lines
		q.lines = q.spare[:0]
		q.mu.Unlock()
		_, err := q.in.Write(lines)
		q.mu.Lock()
		q.spare = lines
		if err != nil {
			return err
		}
	}
	return nil
}

// next is the client whose answer comes next.
func (q *queue) next() net.Conn {
	if q.at == len(q.due) {
		q.mu.Lock()
		q.due, q.asked, q.at = q.asked, q.due[:0], 0
		q.mu.Unlock()
	}
	q.at++
	return q.due[q.at-1]
}

const (
	room  = 128      // before an answer, for its head
	large = 64 << 10 // what takes so long to write that others read meanwhile
)

// deliver reads answers and writes each where it belongs.
func (q *queue) deliver(out io.Reader) error {
	buf := q.buffer(256 << 10)
	begin, end := room, room
	for {
		if end == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		n, err := out.Read(buf[end:])
		if err != nil {
			return err
		}
		seen := end
		end += n
		for {
			length := bytes.IndexByte(buf[seen:end], '\n')
			if length < 0 {
				break
			}
			client, answer := q.next(), withHead(buf, begin, seen+length)
			begin = seen + length + 1
			if len(answer) < large {
				// A client that has left has had its turn all the same.
				_, _ = client.Write(answer)
			} else {
				full := buf
				buf = q.buffer(len(full))
				begin, end = room, room+copy(buf[room:], full[begin:end])
				q.parcels <- parcel{client, answer, full}
			}
			seen = begin
		}
		begin, end = room, room+copy(buf[room:], buf[begin:end])
	}
}

// withHead puts the head of an answer before it, over what is already gone.
func withHead(buf []byte, begin, end int) []byte {
	var space [room]byte
	head := append(space[:0], "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "...)
	head = append(strconv.AppendInt(head, int64(end-begin), 10), "\r\n\r\n"...)
	return buf[begin-copy(buf[begin-len(head):], head) : end]
}

// A parcel is a large answer and the buffer that it stands in.
type parcel struct {
	client      net.Conn
	answer, buf []byte
}

// carry writes large answers while deliver reads on.
func (q *queue) carry() {
	for p := range q.parcels {
		_, _ = p.client.Write(p.answer)
		q.mu.Lock()
		q.free = append(q.free, p.buf)
		q.mu.Unlock()
	}
}

// buffer is the one that was used last, where that is large enough.
func (q *queue) buffer(size int) []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last := len(q.free) - 1; last >= 0 {
		buf := q.free[last]
		q.free = q.free[:last]
		if len(buf) >= size {
			return buf
		}
	}
	return make([]byte, size)
}
