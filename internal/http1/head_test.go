package http1

import (
	"bufio"
	"bytes"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// heads are requests, and whether we parse them ourselves. Requests that a proxy
// before us could read differently are left to net/http.
var heads = []struct {
	name string
	ours bool
	raw  string
}{
	{"plain", true, "POST /mcp HTTP/1.1\r\nHost: localhost:3095\r\nContent-Length: 2\r\n\r\n"},
	{"of a group", true, "POST /s/my_server-2/mcp HTTP/1.1\r\nHost: [::1]:80\r\ncontent-length: 0\r\nAccept: application/json, text/event-stream\r\nAccept: */*\r\nX-Empty:\r\n\r\n"},
	{"host of a container", true, "POST /mcp HTTP/1.1\r\nHost: my_server:3095\r\nContent-Length: 2\r\n\r\n"},
	{"kept", true, "POST /mcp HTTP/1.1\r\nHost: a\r\nConnection: Keep-Alive\r\nContent-Length: 12 \r\n\r\n"},
	{"GET", false, "GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n"},
	{"another path", false, "POST /api/v1/servers HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n"},
	{"query", false, "POST /mcp?x=1/mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n"},
	{"escaped path", false, "POST /%6dcp/mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n"},
	{"two slashes", false, "POST //evil/mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n"},
	{"whole URL", false, "POST http://a/mcp HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\n\r\n"},
	{"HTTP/1.0", false, "POST /mcp HTTP/1.0\r\nHost: a\r\nContent-Length: 2\r\n\r\n"},
	{"no length", false, "POST /mcp HTTP/1.1\r\nHost: a\r\n\r\n"},
	{"two lengths", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n"},
	{"length in a list", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\n"},
	{"length with a sign", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\n"},
	{"length with a zero", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 02\r\n\r\n"},
	{"length in hex", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 0x2\r\n\r\n"},
	{"huge length", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n"},
	{"chunked", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{"chunked and length", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{"odd coding", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: xchunked\r\n\r\n"},
	{"space before colon", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length : 2\r\n\r\n"},
	{"folded", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\nContent-Length: 2\r\n\r\n"},
	{"bare LF", false, "POST /mcp HTTP/1.1\nHost: a\nContent-Length: 2\n\r\n\r\n"},
	{"one bare LF", false, "POST /mcp HTTP/1.1\r\nHost: a\nX: y\r\nContent-Length: 2\r\n\r\n"},
	{"bare CR", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\nContent-Length: 2\r\n\r\n"},
	{"NUL", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nX: \x00\r\nContent-Length: 2\r\n\r\n"},
	{"not ASCII", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nX: \xc3\xa4\r\nContent-Length: 2\r\n\r\n"},
	{"no host", false, "POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n"},
	{"empty host", false, "POST /mcp HTTP/1.1\r\nHost:\r\nContent-Length: 2\r\n\r\n"},
	{"two hosts", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 2\r\n\r\n"},
	{"host with a path", false, "POST /mcp HTTP/1.1\r\nHost: a/b\r\nContent-Length: 2\r\n\r\n"},
	{"host with a user", false, "POST /mcp HTTP/1.1\r\nHost: a@b\r\nContent-Length: 2\r\n\r\n"},
	{"close", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"},
	{"connection names a field", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Content-Length\r\nContent-Length: 2\r\n\r\n"},
	{"upgrade", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n"},
	{"expect", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"},
	{"a field that net/http adds to", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nPragma: no-cache\r\nContent-Length: 2\r\n\r\n"},
	{"underscore", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent_Length: 9\r\nContent-Length: 2\r\n\r\n"},
	{"empty name", false, "POST /mcp HTTP/1.1\r\nHost: a\r\n: x\r\nContent-Length: 2\r\n\r\n"},
	{"no colon", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nX\r\nContent-Length: 2\r\n\r\n"},
	{"many fields", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n" + strings.Repeat("X: y\r\n", 70) + "\r\n"},
	{"long", false, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nX: " + strings.Repeat("y", 9000) + "\r\n\r\n"},
	{"tab in the request line", false, "POST\t/mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n"},
	{"two spaces", false, "POST  /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n"},
}

func TestHeads(t *testing.T) {
	for _, c := range heads {
		t.Run(c.name, func(t *testing.T) {
			var h head
			if got := h.parse([]byte(c.raw)); got != c.ours {
				t.Fatalf("read by us: %v, want %v", got, c.ours)
			}
			if c.ours {
				agrees(t, &h, []byte(c.raw))
			}
		})
	}
}

// agrees compares our result with that of net/http.
func agrees(t *testing.T, h *head, raw []byte) {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", raw, err)
	}
	want := r.Header.Clone()
	want.Del("Content-Length")
	switch {
	case r.Method != http.MethodPost, r.ProtoMajor != 1, r.ProtoMinor != 1, r.Close, len(r.TransferEncoding) > 0, len(r.Trailer) > 0:
		t.Fatalf("net/http reads %q as %+v", raw, r)
	case r.URL.EscapedPath() != h.url.EscapedPath() || r.URL.RawQuery != "" || r.URL.Host != "" || r.RequestURI != h.url.Path:
		t.Fatalf("path %q, net/http has %q", h.url.Path, r.RequestURI)
	case r.Host != h.host:
		t.Fatalf("host %q, net/http has %q", h.host, r.Host)
	case r.ContentLength != h.length:
		t.Fatalf("length %d, net/http has %d", h.length, r.ContentLength)
	case !reflect.DeepEqual(map[string][]string(h.header), map[string][]string(want)):
		t.Fatalf("header %v, net/http has %v", h.header, want)
	}
}

func TestHeadAgain(t *testing.T) {
	var h head
	first := "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 22\r\nX: y\r\n\r\n"
	if !h.parse([]byte(first)) {
		t.Fatal("not ours")
	}
	for raw, want := range map[string]int64{
		first: 22,
		"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\nX: y\r\n\r\n":                        7,
		"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 123456\r\nX: y\r\n\r\n":                   123456,
		"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: \r\nX: y\r\n\r\n":                         -1,
		"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 22\r\nX: z\r\n\r\n":                       -1,
		"POST /mcp HTTP/1.1\r\nHost: b\r\nContent-Length: 22\r\nX: y\r\n\r\n":                       -1,
		"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 22\r\nX: y\r\nContent-Length: 9\r\n\r\n":  -1,
		"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 022\r\nX: y\r\n\r\n":                      -1,
		"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 22 \r\nX: y\r\n\r\n":                      -1,
		"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 22\r\nTransfer-Encoding: chunked\r\n\r\n": -1,
	} {
		got := int64(-1)
		if n := h.repeated([]byte(raw + "behind")); n > 0 {
			if got = h.length; n != len(raw) {
				t.Errorf("%q: ends at %d", raw, n)
			}
		}
		if got != want {
			t.Errorf("%q: length %d, want %d", raw, got, want)
		}
	}
}

// FuzzHead checks that net/http reads every head that we parse in the same way.
func FuzzHead(f *testing.F) {
	for _, c := range heads {
		f.Add([]byte(c.raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := headEnd(raw)
		if n < 4 {
			return
		}
		var h head
		if !h.parse(raw[:n]) {
			return
		}
		agrees(t, &h, raw[:n])
		if h.repeated(raw) != n {
			t.Fatal("the same head once more is another")
		}
	})
}
