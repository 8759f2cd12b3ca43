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

// runFloorStdio forwards the body of every POST as a line to one process, and
// returns every line of its output: the least work that a relay between HTTP
// and a pipe can do. It does not parse JSON and expects bodies of one line. All
// it knows about MCP is that a message without an id gets no answer.
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

// A queue is in front of a process that answers in the order of the requests,
// so it only has to remember that order.
type queue struct {
	in      io.Writer
	parcels chan parcel

	mu      sync.Mutex
	lines   []byte // not yet written
	spare   []byte
	writing bool
	asked   []net.Conn // clients of the lines that get an answer
	free    [][]byte   // unused buffers

	due []net.Conn // the part of asked that deliver has taken
	at  int        // index of the next client in due
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

// send queues a line. If no goroutine is writing, the caller writes all queued
// lines.
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

// next returns the client of the next answer.
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
	room  = 128      // space for the head before an answer
	large = 64 << 10 // writing an answer of this size takes so long that deliver should read meanwhile
)

// deliver reads answers and writes each to its client.
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
				// A client that has disconnected still takes its turn.
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

// withHead writes the head of an answer before it, over bytes that are no
// longer needed.
func withHead(buf []byte, begin, end int) []byte {
	var space [room]byte
	head := append(space[:0], "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "...)
	head = append(strconv.AppendInt(head, int64(end-begin), 10), "\r\n\r\n"...)
	return buf[begin-copy(buf[begin-len(head):], head) : end]
}

// A parcel is a large answer and its buffer.
type parcel struct {
	client      net.Conn
	answer, buf []byte
}

// carry writes large answers while deliver continues to read.
func (q *queue) carry() {
	for p := range q.parcels {
		_, _ = p.client.Write(p.answer)
		q.mu.Lock()
		q.free = append(q.free, p.buf)
		q.mu.Unlock()
	}
}

// buffer returns the most recently used buffer if it is large enough, else a
// new one.
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
