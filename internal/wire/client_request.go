package wire

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/say"
)

// maxRequestBody is what a server's kernel takes without the server reading.
// With more, one that answers early and reads no further would leave us
// writing for ever; net/http reads while it writes.
const maxRequestBody = 32 << 10

// dialAddress is the host and port of a URL.
func dialAddress(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// putHead writes the head of a request as net/http would. It reports false for
// one that is net/http's: it would be refused, or needs more than this.
func (in *clientBuffer) putHead(req *http.Request) bool {
	host, uri := req.Host, req.URL.RequestURI()
	if host == "" {
		host = req.URL.Host
	}
	if !isHost(host) || !isHost(req.URL.Host) || !visible(uri) {
		return false
	}
	b := append(in.buf[:0], "POST "...)
	b = append(b, uri...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	if _, set := req.Header["User-Agent"]; !set {
		b = append(b, "\r\nUser-Agent: Go-http-client/1.1"...)
	}
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, req.ContentLength, 10)
	for name, values := range req.Header {
		switch name {
		case "Connection", "Expect", "Te", "Upgrade", "Transfer-Encoding", "Trailer":
			return false
		case "Host", "Content-Length":
			continue
		}
		if !isToken(name) {
			return false
		}
		for _, v := range values {
			if !isFieldText(v) {
				return false
			}
			if v = strings.Trim(v, " \t"); v == "" && name == "User-Agent" { // asks for none
				continue
			}
			b = append(b, "\r\n"...)
			b = append(b, name...)
			b = append(b, ": "...)
			b = append(b, v...)
		}
	}
	in.buf = append(b, "\r\n\r\n"...)
	return true
}

// putBody writes the body behind the head and closes it.
func (in *clientBuffer) putBody(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	defer req.Body.Close()
	size := int(req.ContentLength)
	from := len(in.buf)
	// One byte more than there should be, to see that there is none.
	b := append(in.buf, make([]byte, size+1)...)
	n, err := io.ReadFull(req.Body, b[from:])
	in.buf = b[:from+size]
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return &NotSentError{err}
	}
	if n != size {
		return &NotSentError{say.Errorf("the body is not of the %d bytes that its length says", "内容的长度与声明的 %d 字节不符", size)}
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
