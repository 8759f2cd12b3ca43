package main

import (
	"bytes"
	"errors"
	"io"
	"strconv"
)

// A messageReader reads whole HTTP/1.1 messages with their unparsed heads. It
// supports content lengths and chunks only.
type messageReader struct {
	r       io.Reader
	buf     []byte
	from    int // start of the current message
	head    int // length of its head
	length  int // length of head and body
	chunked bool
	payload []byte // the decoded chunked body
}

func newMessageReader(r io.Reader) *messageReader {
	return &messageReader{r: r, buf: make([]byte, 0, 4<<10)}
}

var errMessage = errors.New("not an HTTP/1.1 message")

// next reads the next message.
func (m *messageReader) next() error {
	rest := m.buf[m.from+m.length:]
	m.buf = m.buf[:copy(m.buf[:cap(m.buf)], rest)]
	m.from, m.length, m.payload = 0, 0, nil
	end := -1
	for {
		if end = bytes.Index(m.buf, []byte("\r\n\r\n")); end >= 0 {
			break
		}
		if err := m.fill(); err != nil {
			if err == io.EOF && len(m.buf) > 0 {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	m.head = end + 4
	size, chunked := bodySize(m.buf[:m.head])
	m.chunked = chunked
	if chunked {
		return m.readChunks()
	}
	m.length = m.head + size
	if cap(m.buf) < m.length {
		bigger := make([]byte, len(m.buf), m.length)
		copy(bigger, m.buf)
		m.buf = bigger
	}
	for len(m.buf) < m.length {
		if err := m.fill(); err != nil {
			return err
		}
	}
	return nil
}

func (m *messageReader) fill() error {
	if len(m.buf) == cap(m.buf) {
		m.buf = append(m.buf, 0)[:len(m.buf)]
	}
	n, err := m.r.Read(m.buf[len(m.buf):cap(m.buf)])
	m.buf = m.buf[:len(m.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

func bodySize(head []byte) (size int, chunked bool) {
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		switch {
		case len(name) == len("content-length") && bytes.EqualFold(name, []byte("content-length")):
			size, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		case len(name) == len("transfer-encoding") && bytes.EqualFold(name, []byte("transfer-encoding")):
			chunked = bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked"))
		}
	}
	return size, chunked
}

func (m *messageReader) readChunks() error {
	at := m.head
	for {
		var eol int
		for {
			if eol = bytes.Index(m.buf[at:], []byte("\r\n")); eol >= 0 {
				break
			}
			if err := m.fill(); err != nil {
				return err
			}
		}
		digits, _, _ := bytes.Cut(m.buf[at:at+eol], []byte(";"))
		size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 32)
		if err != nil {
			return errMessage
		}
		begin := at + eol + 2
		at = begin + int(size) + 2
		for len(m.buf) < at {
			if err := m.fill(); err != nil {
				return err
			}
		}
		m.payload = append(m.payload, m.buf[begin:begin+int(size)]...)
		if size == 0 {
			m.length = at
			return nil
		}
	}
}

// whole returns the message as received; start returns its first line and
// header.
func (m *messageReader) whole() []byte { return m.buf[:m.length] }
func (m *messageReader) start() []byte { return m.buf[:m.head] }

// body returns the body without its transfer encoding.
func (m *messageReader) body() []byte {
	if m.chunked {
		return m.payload
	}
	return m.buf[m.head:m.length]
}

func (m *messageReader) header(name string) string {
	for line := range bytes.SplitSeq(m.start(), []byte("\r\n")) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if ok && bytes.EqualFold(key, []byte(name)) {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// status returns the status code of an answer.
func (m *messageReader) status() int {
	if m.head < 12 {
		return 0
	}
	code, _ := strconv.Atoi(string(m.buf[9:12]))
	return code
}
