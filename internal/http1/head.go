package http1

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

const (
	// maxHead is the longest head that this package parses itself.
	maxHead = 8 << 10
	// maxFields is the most header fields that this package parses itself.
	maxFields = 64
)

// A head is the request line and header of a POST whose body has a known length.
type head struct {
	url    *url.URL // never changed
	host   string
	header http.Header // without Host and Content-Length; never changed
	length int64

	// raw is the text of the head; raw[from:to] are the digits of the length.
	raw      []byte
	from, to int
}

// headEnd returns the offset behind the empty line that ends a head. It is less
// than 4 if there is no empty line.
func headEnd(b []byte) int {
	return bytes.Index(b, []byte("\r\n\r\n")) + len("\r\n\r\n")
}

// repeated reads a head at the beginning of b that equals h except for the
// Content-Length. Most heads on a connection do. It returns the offset of its end,
// 0 if the head is different.
func (h *head) repeated(b []byte) int {
	if len(b) < h.from || h.to == 0 || !bytes.Equal(b[:h.from], h.raw[:h.from]) {
		return 0
	}
	to := h.from
	for to < len(b) && isDigit(b[to]) {
		to++
	}
	n, ok := length(b[h.from:to])
	if !ok || !bytes.HasPrefix(b[to:], h.raw[h.to:]) {
		return 0
	}
	h.length = n
	return to + len(h.raw) - h.to
}

// parse parses the head of a request; raw ends with the empty line. It reports
// false if the request is for net/http.
func (h *head) parse(raw []byte) bool {
	if len(raw) > maxHead {
		return false
	}
	line, rest := cutLine(raw)
	path, ok := requestLine(line)
	if !ok {
		return false
	}
	*h = head{url: &url.URL{Path: path}, header: make(http.Header, 12), raw: append(h.raw[:0], raw...)}
	lengths := 0
	for fields := 0; ; fields++ {
		at := len(raw) - len(rest)
		if line, rest = cutLine(rest); line == nil {
			return false
		}
		if len(line) == 0 {
			return len(rest) == 0 && h.host != "" && lengths == 1
		}
		name, value, ok := field(line)
		if !ok || fields >= maxFields || unusual(name, value) {
			return false
		}
		switch name {
		case "Host":
			if h.host != "" || !isHost(value) {
				return false
			}
			h.host = value
		case "Content-Length":
			lengths++
			if h.length, ok = length([]byte(value)); !ok {
				return false
			}
			h.from = at + strings.LastIndex(string(line), value)
			h.to = h.from + len(value)
		default:
			h.header[name] = append(h.header[name], value)
		}
	}
}

// cutLine returns the first line without its CR LF, nil if there is none.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 1 || b[i-1] != '\r' {
		return nil, nil
	}
	return b[: i-1 : i-1], b[i+1:]
}

// requestLine returns the path of POST /...mcp HTTP/1.1. It rejects paths with any
// character that can be encoded in two ways.
func requestLine(line []byte) (string, bool) {
	path, ok := bytes.CutPrefix(line, []byte("POST "))
	if !ok {
		return "", false
	}
	if path, ok = bytes.CutSuffix(path, []byte(" HTTP/1.1")); !ok {
		return "", false
	}
	if !bytes.HasPrefix(path, []byte("/")) || !bytes.HasSuffix(path, []byte("/mcp")) || bytes.HasPrefix(path, []byte("//")) {
		return "", false
	}
	for _, c := range path {
		if !isLetter(c) && !isDigit(c) && c != '/' && c != '-' && c != '_' {
			return "", false
		}
	}
	return string(path), true
}

// field splits a header field and makes its name canonical.
func field(line []byte) (name, value string, ok bool) {
	i := bytes.IndexByte(line, ':')
	if i <= 0 {
		return "", "", false
	}
	for _, c := range line[:i] {
		if !isLetter(c) && !isDigit(c) && c != '-' && c != '_' {
			return "", "", false
		}
	}
	v := bytes.Trim(line[i+1:], " \t")
	for _, c := range v {
		if c < ' ' || c > '~' {
			return "", "", false
		}
	}
	return textproto.CanonicalMIMEHeaderKey(string(line[:i])), string(v), true
}

// unusual reports whether a field changes how the message or the connection is
// read.
func unusual(name, value string) bool {
	switch name {
	case "Connection":
		return !strings.EqualFold(value, "keep-alive")
	case "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Expect", "Keep-Alive", "Proxy-Connection",
		"Http2-Settings", "Content_length", "Transfer_encoding", "Pragma":
		return true
	}
	return false
}

func isHost(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isLetter(c) && !isDigit(c) && c != '.' && c != '-' && c != '_' && c != ':' && c != '[' && c != ']' {
			return false
		}
	}
	return s != ""
}

// length parses a Content-Length that every parser reads the same way.
func length(digits []byte) (int64, bool) {
	if len(digits) == 0 || len(digits) > 15 || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if !isDigit(c) {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
