//go:build linux || darwin

package http1

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const ok11 = "HTTP/1.1 200 OK\r\n"

// clientAnswers are valid and invalid responses. Responses with the outcome "same"
// are read as net/http reads them, and so are those with "ends", which end with the
// connection. Responses with "refused" are errors.
var clientAnswers = []struct {
	name, bytes, outcome string
	kept                 bool
}{
	{"length", ok11 + "Content-Length: 2\r\n\r\nok", "same", true},
	{"length of nothing", ok11 + "Content-Length: 0\r\n\r\n", "same", true},
	{"lower-case names", ok11 + "content-type: a/b\r\ncontent-length: 2\r\nmcp-session-id: s\r\n\r\nok", "same", true},
	{"values repeated", ok11 + "X-A: 1\r\nX-B: 2\r\nx-a: 3\r\nContent-Length: 2\r\n\r\nok", "same", true},
	{"empty and padded values", ok11 + "A:\r\nB: \t b c \t\r\nContent-Length:   2  \r\n\r\nok", "same", true},
	{"values beyond ASCII", ok11 + "A: \xe4\xf6 ü\r\nContent-Length: 2\r\n\r\nok", "same", true},
	{"colons in a value", ok11 + "A: b: c\r\nContent-Length: 2\r\n\r\nok", "same", true},
	{"no reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "same", true},
	{"empty reason", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", "same", true},
	{"long reason", "HTTP/1.1 404 Nothing to be found here\r\nContent-Length: 2\r\n\r\nno", "same", true},
	{"unknown status", "HTTP/1.1 799 Odd\r\nContent-Length: 2\r\n\r\nok", "same", true},
	{"lines without CR", "HTTP/1.1 200 OK\nA: b\nContent-Length: 2\n\nok", "same", true},
	{"chunks", ok11 + "Transfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", "same", true},
	{"no chunk", ok11 + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "same", true},
	{"chunk sizes in odd forms", ok11 + "Transfer-Encoding: Chunked\r\n\r\n00A\r\n0123456789\r\nb;x=\"y\"\r\n0123456789a\r\n000  \r\n\r\n", "same", true},
	{"chunks with a trailer", ok11 + "Trailer: X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", "same", true},
	{"202 without a body", "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", "same", true},
	{"204", "HTTP/1.1 204 No Content\r\n\r\n", "same", true},
	{"204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", "same", true},
	{"304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "same", true},
	{"100 first", "HTTP/1.1 100 Continue\r\n\r\n" + ok11 + "Content-Length: 2\r\n\r\nok", "same", true},
	{"103 with fields first", "HTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 9\r\n\r\n" + ok11 + "Content-Length: 2\r\n\r\nok", "same", true},
	{"compressed, unasked", ok11 + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b", "same", true},
	{"keep-alive", ok11 + "Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nok", "same", true},

	{"until the end", ok11 + "Content-Type: a/b\r\n\r\nall of it", "ends", false},
	{"202 until the end", "HTTP/1.1 202 Accepted\r\n\r\n", "ends", false},
	{"close", ok11 + "Connection: close\r\nContent-Length: 2\r\n\r\nok", "same", false},
	{"close in a list", ok11 + "Connection: x-thing, Close\r\nContent-Length: 2\r\n\r\nok", "same", false},
	{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "same", false},
	{"HTTP/1.0 kept", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", "same", false},
	{"a second answer behind", ok11 + "Content-Length: 2\r\n\r\nok" + ok11 + "Content-Length: 4\r\n\r\nevil", "same", false},
	{"a second answer behind chunks", ok11 + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + ok11 + "Content-Length: 4\r\n\r\nevil", "same", false},
	{"a second answer behind 204", "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n" + ok11 + "Content-Length: 4\r\n\r\nevil", "same", false},
	{"body shorter than its length", ok11 + "Content-Length: 10\r\n\r\nok", "ends", false},
	{"cut off in a chunk", ok11 + "Transfer-Encoding: chunked\r\n\r\n9\r\nok", "ends", false},
	{"cut off behind a chunk", ok11 + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", "ends", false},
	{"cut off in the head", ok11 + "Content-Le", "ends", false},
	{"nothing", "", "ends", false},

	{"not HTTP", "SSH-2.0-OpenSSH_9.6\r\n\r\n", "refused", false},
	{"HTTP/2", "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"HTTP/0.9", "ok\n\n", "refused", false},
	{"status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"status with a sign", "HTTP/1.1 +20 OK\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"status zero", "HTTP/1.1 000 OK\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"two spaces", "HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"101 unasked", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "refused", false},
	{"empty line first", "\r\n" + ok11 + "Content-Length: 2\r\n\r\nok", "refused", false},
	{"two lengths", ok11 + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok!", "refused", false},
	{"a length twice", ok11 + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"a list of lengths", ok11 + "Content-Length: 2, 2\r\n\r\nok", "refused", false},
	{"a negative length", ok11 + "Content-Length: -2\r\n\r\nok", "refused", false},
	{"a length with a sign", ok11 + "Content-Length: +2\r\n\r\nok", "refused", false},
	{"a length in hex", ok11 + "Content-Length: 0x2\r\n\r\nok", "refused", false},
	{"an empty length", ok11 + "Content-Length:\r\n\r\nok", "refused", false},
	{"a length beyond 63 bits", ok11 + "Content-Length: 9223372036854775808\r\n\r\nok", "refused", false},
	{"length and chunks", ok11 + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "refused", false},
	{"chunks and length", ok11 + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n", "refused", false},
	{"chunked twice", ok11 + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "refused", false},
	{"gzip, chunked", ok11 + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "refused", false},
	{"identity", ok11 + "Transfer-Encoding: identity\r\n\r\nok", "refused", false},
	{"chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "refused", false},
	{"folded line", ok11 + "A: b\r\n c\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"folded length", ok11 + "Content-Length:\r\n 2\r\n\r\nok", "refused", false},
	{"space before the colon", ok11 + "Content-Length : 2\r\n\r\nok", "refused", false},
	{"space before the name", ok11 + " A: b\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"no colon", ok11 + "Nonsense\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"no name", ok11 + ": b\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"zero byte in a name", ok11 + "A\x00: b\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"zero byte in a value", ok11 + "A: b\x00\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"CR in a value", ok11 + "A: b\rContent-Length: 9\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"CR in the status line", "HTTP/1.1 200 OK\rA: b\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"chunk size of nothing", ok11 + "Transfer-Encoding: chunked\r\n\r\n\r\nok\r\n0\r\n\r\n", "refused", false},
	{"chunk size with a sign", ok11 + "Transfer-Encoding: chunked\r\n\r\n+2\r\nok\r\n0\r\n\r\n", "refused", false},
	{"chunk size with 0x", ok11 + "Transfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n", "refused", false},
	{"chunk size before a space", ok11 + "Transfer-Encoding: chunked\r\n\r\n2 ;x\r\nok\r\n0\r\n\r\n", "refused", false},
	{"chunk size beyond 64 bits", ok11 + "Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\nok\r\n0\r\n\r\n", "refused", false},
	{"chunk line without CR", ok11 + "Transfer-Encoding: chunked\r\n\r\n2\nok\r\n0\r\n\r\n", "refused", false},
	{"chunk longer than its size", ok11 + "Transfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n", "refused", false},
	{"chunk extension with CR", ok11 + "Transfer-Encoding: chunked\r\n\r\n2;a\rb\r\nok\r\n0\r\n\r\n", "refused", false},
	{"chunk extension without end", ok11 + "Transfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("x", 8<<10) + "\r\nok\r\n0\r\n\r\n", "refused", false},
	{"chunks that are mostly extension", ok11 + "Transfer-Encoding: chunked\r\n\r\n" +
		strings.Repeat("1;"+strings.Repeat("x", 900)+"\r\no\r\n", 64) + "0\r\n\r\n", "refused", false},
	{"trailer that would frame", ok11 + "Trailer: content-length\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "refused", false},
	{"trailer that is not one", ok11 + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nHTTP/1.1 200 OK\r\n\r\n", "refused", false},
	{"trailer without end", ok11 + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n" + strings.Repeat("A: b\r\n", 9000), "refused", false},
	{"head of 70 KiB", ok11 + "A: " + strings.Repeat("a", 70<<10) + "\r\nContent-Length: 2\r\n\r\nok", "refused", false},
	{"1xx without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\nA: "+strings.Repeat("a", 1<<10)+"\r\n\r\n", 100), "refused", false},
}

// An outcome is what the caller gets for a response.
type outcome struct {
	Failed           bool
	Status           string
	Code             int
	Proto            string
	Header           http.Header
	Length           int64
	TransferEncoding []string
	Close            bool
	Body             string
	BodyFailed       bool
}

func outcomeOf(resp *http.Response, err error) outcome {
	if err != nil {
		return outcome{Failed: true}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return outcome{
		Status: resp.Status, Code: resp.StatusCode, Proto: resp.Proto, Header: resp.Header, Length: resp.ContentLength,
		TransferEncoding: resp.TransferEncoding, Close: resp.Close, Body: string(body), BodyFailed: err != nil,
	}
}

// TestClientAnswers checks that every response is either read as net/http reads it
// or refused, and that no part of it reaches the next request.
func TestClientAnswers(t *testing.T) {
	for _, tt := range clientAnswers {
		t.Run(tt.name, func(t *testing.T) {
			c := newTestClient(t)
			p := playOnce(t, tt.bytes, tt.outcome == "ends")
			got := outcomeOf(c.RoundTrip(newPost(t.Context(), p.url, "{}")))
			if status, body := ask(t, c, p.url, "{}"); status != 200 || body != "next" {
				t.Errorf("the next answer is %d %q", status, body)
			}
			if kept := p.conns.Load() == 1; kept != tt.kept {
				t.Errorf("the connection was kept: %v", kept)
			}
			if tt.outcome == "refused" {
				if !got.Failed && !got.BodyFailed {
					t.Errorf("taken: %+v", got)
				}
				return
			}
			theirs := newTransport()
			defer theirs.CloseIdleConnections()
			want := outcomeOf(theirs.RoundTrip(newPost(t.Context(), playOnce(t, tt.bytes, tt.outcome == "ends").url, "{}")))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("net/http differs (-) from us (+):\n%s", diff)
			}
		})
	}
}

// playOnce sends one response. Later requests, on the same or another connection,
// get theNext.
func playOnce(t *testing.T, answer string, ends bool) *player {
	t.Helper()
	var said atomic.Bool
	return play(t, func(conn net.Conn, br *bufio.Reader) {
		for {
			if _, _, err := heardRequest(br); err != nil {
				return
			}
			first := !said.Swap(true)
			text := theNext
			if first {
				text = answer
			}
			if _, err := io.WriteString(conn, text); err != nil || first && ends {
				return
			}
		}
	})
}
