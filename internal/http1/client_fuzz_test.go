//go:build linux || darwin

package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// FuzzClientAnswer checks, for any bytes from a server, that net/http accepts every
// response that we accept, with the same content and the same end. The result must
// not depend on how the bytes arrive.
func FuzzClientAnswer(f *testing.F) {
	for _, tt := range clientAnswers {
		f.Add([]byte(tt.bytes))
	}
	f.Add([]byte("HTTP/1.1 200 OK\r\nPragma: no-cache\r\nContent-Length: 0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ours, left := readByUs(bytes.NewReader(data), 700)
		slowly, leftSlowly := readByUs(iotest.OneByteReader(bytes.NewReader(data)), 3)
		if diff := cmp.Diff(ours, slowly); diff != "" || left != leftSlowly {
			t.Fatalf("%d and %d bytes left; at once (-) and byte by byte (+) differ:\n%s", left, leftSlowly, diff)
		}
		theirs, leftByThem := readByThem(data)
		if !theirs.Failed && !ours.Failed && !strings.HasPrefix(theirs.Body, ours.Body) && !strings.HasPrefix(ours.Body, theirs.Body) {
			t.Fatalf("we read %q, they read %q", ours.Body, theirs.Body)
		}
		if ours.Failed || ours.BodyFailed {
			return
		}
		if diff := cmp.Diff(theirs, ours); diff != "" || leftByThem != left {
			t.Fatalf("they left %d bytes, we %d; net/http differs (-) from us (+):\n%s", leftByThem, left, diff)
		}
	})
}

// readByUs reads one response in pieces of a given size, and counts the bytes after
// it.
func readByUs(src io.Reader, size int) (outcome, int) {
	in := &clientBuffer{}
	in.start(src)
	var resp http.Response
	b := &clientBody{in: in}
	framing, err := in.readHead(&resp, 64<<10)
	if err != nil {
		return outcome{Failed: true}, 0
	}
	b.clientFraming, b.left = framing, max(framing.length, 0)
	var body []byte
	for p := make([]byte, size); err == nil && framing.length != 0; {
		var n int
		n, err = b.readSome(p)
		body = append(body, p[:n]...)
	}
	left, _ := io.Copy(io.Discard, src)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	got := outcomeOf(&resp, nil)
	got.BodyFailed = err != nil && err != io.EOF
	if got.BodyFailed {
		return got, 0
	}
	return got, int(left) + len(in.unread())
}

func readByThem(data []byte) (outcome, int) {
	src := bytes.NewReader(data)
	br := bufio.NewReader(src)
	for {
		resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodPost})
		if err == nil && resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		var invented bool // net/http derived the field from another one
		if err == nil && resp.Header.Get("Pragma") == "no-cache" {
			invented = !bytes.Contains(bytes.ToLower(data), []byte("cache-control"))
		}
		got := outcomeOf(resp, err)
		if invented {
			delete(got.Header, "Cache-Control")
		}
		return got, src.Len() + br.Buffered()
	}
}
