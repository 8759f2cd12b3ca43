package http1

import (
	"errors"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// maxRequestBody is how much the server's kernel accepts before the server reads.
// With a larger body, a server that responds early and stops reading would block
// our write forever. net/http reads while it writes.
const maxRequestBody = 32 << 10

// dialAddress is the host and port of a URL.
func dialAddress(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

var headSeed = maphash.MakeSeed()

// putHead writes the head of a request as net/http would, without Content-Length.
// It reports false if net/http has to send the request, because the request is
// invalid or needs features that are missing here.
func (in *clientBuffer) putHead(req *http.Request) (ok bool) {
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	in.buf, ok = appendClientHead(in.buf[:0], req.URL, host, req.Header)
	if in.head = 0; req.URL.Scheme == "https" {
		in.head = maphash.Bytes(headSeed, in.buf)
	}
	return ok
}

func appendClientHead(b []byte, u *url.URL, host string, header http.Header) (_ []byte, ok bool) {
	uri := u.RequestURI()
	if !isHost(host) || !isHost(u.Host) || !visible(uri) {
		return b, false
	}
	b = append(b, "POST "...)
	b = append(b, uri...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	if _, set := header["User-Agent"]; !set {
		b = append(b, "\r\nUser-Agent: Go-http-client/1.1"...)
	}
	var room [24]string
	names := room[:0]
	for name := range header {
		names = append(names, name)
	}
	if u.Scheme == "https" {
		slices.Sort(names) // our own server parses a repeated head only once
	}
	for _, name := range names {
		switch name {
		case "Connection", "Expect", "Te", "Upgrade", "Transfer-Encoding", "Trailer":
			return b, false
		case "Host", "Content-Length":
			continue
		}
		if !isToken(name) {
			return b, false
		}
		for _, v := range header[name] {
			if b, ok = appendClientField(b, name, v); !ok {
				return b, false
			}
		}
	}
	return b, true
}

// appendClientField appends a header field. It reports false if the field must not
// be sent.
func appendClientField(b []byte, name, value string) ([]byte, bool) {
	if !isToken(name) || !isFieldText(value) {
		return b, false
	}
	if value = strings.Trim(value, " \t"); value == "" && name == "User-Agent" { // sends no User-Agent
		return b, true
	}
	b = append(b, "\r\n"...)
	b = append(b, name...)
	b = append(b, ": "...)
	return append(b, value...), true
}

// putLength inserts Content-Length and the end of the head at body, the offset at
// which the body begins.
func (in *clientBuffer) putLength(body int) {
	var room [48]byte
	end := append(room[:0], "\r\nContent-Length: "...)
	end = strconv.AppendInt(end, int64(len(in.buf)-body), 10)
	in.buf = slices.Insert(in.buf, body, append(end, "\r\n\r\n"...)...)
}

// putBody appends the body to the buffer and closes it.
func (in *clientBuffer) putBody(req *http.Request) error {
	from := len(in.buf)
	defer in.putLength(from)
	if req.Body == nil {
		return nil
	}
	defer req.Body.Close()
	size := int(req.ContentLength)
	// Read one byte more than expected, to detect a body that is too long.
	b := append(in.buf, make([]byte, size+1)...)
	n, err := io.ReadFull(req.Body, b[from:])
	in.buf = b[:from+size]
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return &NotSentError{err}
	}
	if n != size {
		return &NotSentError{i18n.Errorf("the body does not have the %d bytes of its Content-Length", "正文的长度与 Content-Length 声明的 %d 字节不符", size)}
	}
	return nil
}

func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return s != ""
}
