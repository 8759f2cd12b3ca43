package wire

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// plainHeads and streamHeads are taken by shortAnswer, the others are left to
// parseAnswer.
var plainHeads = []string{
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n",
	"HTTP/1.1 200\r\ncontent-type:application/json\r\ncontent-length:12\r\n\r\n",
	"HTTP/1.1 200 \r\nCONTENT-TYPE: Application/JSON ; charset=utf-8\r\nCONTENT-LENGTH:\t 0012 \r\n\r\n",
	"HTTP/1.1 200 OK\nDate: x\nContent-Type: application/json;\nContent-Length: 123456789012345\n\n",
	"HTTP/1.1 200 OK\r\nConnection: Keep-Alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 1\r\nContent-Type: application/json\r\nA: \xe4\r\nTrailer: content-length\r\n\r\n",
}

var streamHeads = []string{
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
	"HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream; charset=utf-8\r\nconnection: keep-alive\r\nDate: x\r\ntransfer-encoding:Chunked\r\n\r\n",
}

var otherHeads = []string{
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
	"HTTP/1.1 404 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
	"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n",
	"HTTP/1.1 2000 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n",
	"HTTP/1.1 201 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n",
	"HTTP/1.1 200 O\x00K\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: +1\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 1\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: keep-alive, close\r\nContent-Length: 1\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/j\u017fon\r\nContent-Length: 1\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent\rType: application/json\r\nContent-Length: 1\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\nA : b\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\nA: b\x7f\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\n folded\r\n\r\n",
}

func TestPlainAnswer(t *testing.T) {
	for _, head := range plainHeads {
		if length, _ := shortAnswer([]byte(head)); length == 0 {
			t.Errorf("not taken: %q", head)
		}
		sameVerdict(t, head)
	}
	for _, head := range streamHeads {
		if length, _ := shortAnswer([]byte(head)); length != eventStream {
			t.Errorf("not taken: %q", head)
		}
		sameVerdict(t, head)
	}
	for _, head := range otherHeads {
		if length, _ := shortAnswer([]byte(head)); length != 0 {
			t.Errorf("taken: %q", head)
		}
	}
}

// sameVerdict holds a head that shortAnswer takes against what parseAnswer says
// of it.
func sameVerdict(t *testing.T, head string) {
	t.Helper()
	length, _ := shortAnswer([]byte(head))
	if length == 0 {
		return
	}
	var resp http.Response
	framing, err := parseAnswer(head, &resp)
	want, wantKind := clientFraming{length: length, keep: true}, "application/json"
	if length == eventStream {
		want.chunked, wantKind = true, "text/event-stream"
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if err != nil || framing != want || resp.StatusCode != http.StatusOK || len(resp.Header["Content-Type"]) != 1 ||
		strings.ToLower(strings.TrimSpace(kind)) != wantKind || resp.Header["Content-Encoding"] != nil {
		t.Errorf("taken with %d bytes: %q\nbut: %+v, %v", length, head, framing, err)
	}
}

// One head after the other is read as each alone.
func TestPlainAnswerAgain(t *testing.T) {
	heads := slices.Concat(plainHeads, streamHeads, otherHeads)
	for _, lengths := range []string{"7", "123", "0", "07", "", "7 ", "-7", "7a", "1234567890123456", "7\r\nContent-Length: 7"} {
		heads = append(heads, strings.Replace(plainHeads[0], "12", lengths, 1), strings.Replace(plainHeads[4], "Length: 1", "Length: "+lengths, 1))
	}
	for _, first := range heads {
		for _, second := range heads {
			var last shortHead
			last.read([]byte(first))
			want, _ := shortAnswer([]byte(second))
			if got := last.read([]byte(second)); got != want {
				t.Errorf("%d and not %d bytes: %q after %q", got, want, second, first)
			}
		}
	}
}

// Whatever changes in a head: shortAnswer takes nothing that parseAnswer would
// read otherwise.
func FuzzPlainAnswer(f *testing.F) {
	for _, head := range slices.Concat(plainHeads, streamHeads, otherHeads) {
		f.Add([]byte(head))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &clientBuffer{buf: data}
		in.src = strings.NewReader("")
		if head, err := in.takeHead(64 << 10); err == nil {
			sameVerdict(t, string(head))
		}
	})
}

func TestPlainAnswerRandom(t *testing.T) {
	pieces := []string{
		"HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 \n", "HTTP/1.0 200 OK\r\n", "Content-Length: 7\r\n", "content-length:8\n", "Content-Length: 7, 7\r\n",
		"Content-Type: application/json\r\n", "Content-Type: text/event-stream\r\n", "Transfer-Encoding: chunked\r\n", "Content-Type: text/html\r\n", "Connection: close\r\n",
		"Connection: keep-alive\r\n", "Content-Encoding: gzip\r\n", "Trailer: x\r\n", ": x\r\n", " x\r\n", "A: b\r\n", "\r\n", "\n", "\r",
	}
	var taken, streams int
	var last shortHead
	for range 50_000 {
		head := pieces[rand.IntN(3)]
		for range rand.IntN(6) {
			head += pieces[min(rand.IntN(len(pieces)), 3+rand.IntN(len(pieces)))] // more of the first ones
		}
		raw := []byte(head + "\r\n")
		if rand.IntN(2) == 0 {
			raw[rand.IntN(len(raw))] = byte(rand.IntN(256))
		}
		in := &clientBuffer{buf: raw}
		in.src = strings.NewReader("")
		whole, err := in.takeHead(64 << 10)
		if err != nil {
			continue
		}
		length, _ := shortAnswer(whole)
		if length > 0 {
			taken++
		} else if length == eventStream {
			streams++
		}
		if got := last.read(whole); got != length {
			t.Errorf("after another one of %d bytes, not %d: %q", got, length, whole)
		}
		sameVerdict(t, string(whole))
	}
	if taken < 100 || streams < 20 {
		t.Errorf("only %d heads were plain, and %d those of streams", taken, streams)
	}
}

func BenchmarkPlainAnswer(b *testing.B) {
	head := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: 0123456789abcdef\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 137\r\n\r\n")
	b.ReportAllocs()
	var last shortHead
	for b.Loop() {
		if last.read(head) != 137 {
			b.Fatal("not taken")
		}
	}
}
