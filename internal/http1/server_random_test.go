package http1

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/mcptest/random"
)

// lines are the parts of requests: valid, invalid and dangerous ones.
var lines = struct{ first, fields []string }{
	first: []string{
		"POST /mcp HTTP/1.1\r\n", "POST /mcp HTTP/1.1\r\n", "POST /s/a/mcp HTTP/1.1\r\n", "POST /mcp HTTP/1.0\r\n", "GET /mcp HTTP/1.1\r\n",
		"POST  /mcp HTTP/1.1\r\n", "POST /mcp HTTP/1.1\n", "post /mcp HTTP/1.1\r\n", "\r\nPOST /mcp HTTP/1.1\r\n", "POST /mcp\r\n",
		"POST http://b/mcp HTTP/1.1\r\n", "POST /mcp?x HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n", "POST /m\x00cp/mcp HTTP/1.1\r\n", "\x00", "P",
	},
	fields: []string{
		"Transfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\n", "Transfer-Encoding : chunked\r\n", "Transfer-Encoding:\tchunked\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", "transfer-encoding: CHUNKED\r\n", "X: a\r\nTransfer-Encoding: \x0bchunked\r\n",
		"Content-Length: 3\r\n", "Content-Length: 0\r\n", "Content-Length: +3\r\n", "Content-Length: 3, 3\r\n", "Content-Length:\r\n", "content_length: 1\r\n",
		"X: folded\r\n Content-Length: 1\r\n", "X: y\n", "X: y\rZ: 1\r\n", "X: \x00\r\n", "X\r\n", ": x\r\n", " X: y\r\n", "X-Sp ace: y\r\n", "\r\n", "\n", "\n\n",
		"Connection: close\r\n", "Connection: keep-alive\r\n", "Connection: Content-Length\r\n", "Expect: 100-continue\r\n", "Upgrade: h2c\r\nConnection: Upgrade\r\n",
		"Host: b\r\n", "Host:\r\n", "Pragma: no-cache\r\n", "Trailer: X\r\n", "Accept: a\r\naccept: b\r\n", "X-Long: " + strings.Repeat("x", 5000) + "\r\n",
	},
}

var bodies = []string{"", "abc", "0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n", post("inner"), strings.Repeat("b", 6000)}

func someOf(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

// randomRequest usually returns a plain request, so that strange ones follow on a
// connection that we serve.
func randomRequest(r *rand.Rand) string {
	body := someOf(r, bodies)
	if r.IntN(2) == 0 {
		how := []string{"", "", "", "X-How: large\r\n", "X-How: unknown\r\n", "X-How: stream\r\n", "X-How: accepted\r\n", "X-How: none\r\n", "X-How: close\r\n", "X-How: panic\r\n"}
		return post(body, someOf(r, how))
	}
	var b strings.Builder
	b.WriteString(someOf(r, lines.first[:1+r.IntN(len(lines.first))]))
	fields := []string{"Host: a\r\n", fmt.Sprintf("Content-Length: %d\r\n", len(body)+r.IntN(9)/8-r.IntN(9)/8)}
	for range r.IntN(3) {
		fields = append(fields, someOf(r, lines.fields))
	}
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	b.WriteString(strings.Join(fields, "") + "\r\n" + body)
	said := b.String()
	if r.IntN(10) == 0 { // replace one byte
		at := r.IntN(len(said))
		said = said[:at] + string(rune(r.IntN(128))) + said[at+1:]
	}
	return said
}

// TestServerRandom checks that the handler sees the same requests and the client
// gets the same responses as with net/http, whatever is sent on a connection and in
// whatever pieces.
func TestServerRandom(t *testing.T) {
	patient := func() *http.Server {
		s := newStd(answers)
		s.ReadHeaderTimeout = time.Minute
		return s
	}
	ours, theirs := must.Listen(t), must.Listen(t)
	f, plain := NewServer(patient()), patient()
	go f.Serve(ours)
	go plain.Serve(theirs)
	t.Cleanup(func() { f.Close(); plain.Close() })
	r := random.New(t)
	for range 200 {
		said := ""
		for range 1 + r.IntN(6) {
			said += randomRequest(r)
		}
		var cuts []int
		for range r.IntN(4) {
			cuts = append(cuts, r.IntN(len(said)+1))
		}
		got, all := heard(t, ours.Addr(), said, cuts)
		want, wantAll := heard(t, theirs.Addr(), said, nil)
		if !all || !wantAll { // closing with unread input may discard the last responses
			n := min(len(got), len(want))
			got, want = got[:n], want[:n]
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("after %q, cut at %v\ngot\n%s\nwant\n%s", said, cuts, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// heard sends said in pieces and returns the responses. all reports whether the
// connection ended cleanly, so that none is missing.
func heard(t *testing.T, addr net.Addr, said string, cuts []int) (answers []string, all bool) {
	t.Helper()
	c := dial(t, addr.String())
	defer c.Close()
	go func() {
		from := 0
		for _, cut := range cuts {
			if cut > from {
				io.WriteString(c, said[from:cut])
				from = cut
				runtime.Gosched()
			}
		}
		io.WriteString(c, said[from:])
		c.(*net.TCPConn).CloseWrite()
	}()
	for r := bufio.NewReader(c); ; {
		resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodPost})
		if err != nil {
			return answers, errors.Is(err, io.ErrUnexpectedEOF)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return answers, false
		}
		// An incomplete body is the last thing that a client sends.
		last := resp.Close || strings.Contains(resp.Header.Get("X-Seen"), "EOF")
		answers = append(answers, fmt.Sprintf("%d %q last=%v %d bytes %.40q", resp.StatusCode, resp.Header["X-Seen"], last, len(body), body))
	}
}
