package http1

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"

	"mcp-all-in-one/internal/i18n"
)

const (
	clientBufferSize = 16 << 10
	maxPooledBuffer  = 64 << 10
)

var clientBuffers = sync.Pool{New: func() any { return &clientBuffer{buf: make([]byte, 0, clientBufferSize)} }}

// A clientBuffer holds the request until it is sent. After that, buf[at:] is the
// part of the response that has been read but not consumed.
type clientBuffer struct {
	src  io.Reader
	head uint64 // hash of the head of a request over TLS, without Content-Length
	buf  []byte
	at   int
	err  error // returned by the next read
}

func newClientBuffer() *clientBuffer { return clientBuffers.Get().(*clientBuffer) }

// free returns the buffer to the pool.
func (in *clientBuffer) free() {
	in.start(nil)
	if cap(in.buf) <= maxPooledBuffer {
		clientBuffers.Put(in)
	}
}

// start empties the buffer; further reads come from src.
func (in *clientBuffer) start(src io.Reader) {
	in.src, in.buf, in.at, in.err = src, in.buf[:0], 0, nil
}

var errStale = i18n.Errorf("the server has closed the connection", "服务器已关闭连接")

// ask writes the request to a connection and reads the first bytes of the response.
// If the connection was kept, ask first checks that it is still open and quiet. It
// returns how many bytes were written. A read error is reported by the next read.
// wrote, if not nil, is called when the whole request is written.
func (in *clientBuffer) ask(cn *clientConn, kept bool, wrote func()) (sent int, err error) {
	msg, got := in.buf, 0
	if cn.sealed {
		if kept && !cn.quiet() {
			return 0, errStale
		}
	} else if cn.talk != nil {
		sent, got, err = cn.talk.talk(msg, kept, wrote)
	}
	talked := sent == len(msg)
	if !talked && err == nil {
		var n int
		n, err = cn.Write(msg[sent:])
		sent += n
		if wrote != nil && err == nil {
			wrote()
		}
	}
	if sent == 0 && err != nil {
		return 0, err // the request can still be sent on another connection
	}
	in.start(cn)
	if talked {
		in.buf, in.err, err = in.buf[:got], err, nil
	}
	return sent, err
}

func (in *clientBuffer) unread() []byte { return in.buf[in.at:] }

// fill reads more data from the connection. It makes room in the buffer first.
func (in *clientBuffer) fill() error {
	if in.err != nil {
		return in.err
	}
	if in.at > 0 {
		in.buf = in.buf[:copy(in.buf, in.buf[in.at:])]
		in.at = 0
	}
	if len(in.buf) == cap(in.buf) {
		in.buf = append(in.buf, 0)[:len(in.buf)]
	}
	n, err := in.src.Read(in.buf[len(in.buf):cap(in.buf)])
	in.buf = in.buf[:len(in.buf)+n]
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// read reads into p, which is not empty: from the buffer if it has data, else from
// the connection. If direct is false, it may read more than fits into p.
func (in *clientBuffer) read(p []byte, direct bool) (int, error) {
	if in.at == len(in.buf) {
		if direct || len(p) >= cap(in.buf) {
			return in.src.Read(p)
		}
		if err := in.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, in.unread())
	in.at += n
	return n, nil
}

// readHead reads the head of the response. It skips the heads of provisional
// responses; they count towards the limit.
func (in *clientBuffer) readHead(resp *http.Response, limit int) (clientFraming, error) {
	for {
		head, err := in.takeHead(limit)
		if err != nil {
			return clientFraming{}, err
		}
		limit -= len(head)
		framing, err := parseAnswer(string(head), resp)
		if err != nil || resp.StatusCode/100 != 1 {
			return framing, err
		}
	}
}

// takeHead returns the lines up to and including the first empty line. They are
// valid until the next read.
func (in *clientBuffer) takeHead(limit int) ([]byte, error) {
	seen := 0 // the part of unread() that was searched; ends with a line end
	for {
		for {
			unread := in.unread()
			i := bytes.IndexByte(unread[seen:], '\n')
			if i < 0 {
				break
			}
			last := i == 0 || i == 1 && unread[seen] == '\r'
			seen += i + 1
			if seen > limit {
				return nil, malformedError("a header of more than " + strconv.Itoa(limit) + " bytes")
			}
			if last {
				in.at += seen
				return unread[:seen], nil
			}
		}
		if len(in.unread()) >= limit {
			return nil, malformedError("a header of more than " + strconv.Itoa(limit) + " bytes")
		}
		if err := in.fill(); err != nil {
			if err == io.EOF && len(in.unread()) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}
