package mcphttp

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

func TestOnlyEvent(t *testing.T) {
	for text, want := range map[string]string{
		"data: {}\n\n":    "{}",
		"data:{}\r\n\r\n": "{}",
		"event: message\nid: 7\ndata: {\"a\":1}\n\n": `{"a":1}`,
		": hello\nretry: 5\ndata: x\nid\n\n":         "x",
		"data: {}\n":                                 "",
		"data: {}":                                   "",
		"data: a\ndata: b\n\n":                       "",
		"data: a\n\ndata: b\n\n":                     "",
		"data: a\n\n\n":                              "",
		"\ndata: a\n\n":                              "",
		"event: endpoint\ndata: a\n\n":               "",
		"id: 1\ndata:\n\n":                           "",
		"data: a\rdata: b\n\n":                       "",
		"\xef\xbb\xbfdata: a\n\n":                    "",
		"":                                           "",
		"other: x\ndata: a\n\n":                      "",
		"id: " + string(make([]byte, maxEventID+1)) + "\ndata: a\n\n": "",
	} {
		if got := onlyEvent([]byte(text)); string(got) != want {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
	}
}

// What onlyEvent takes, an EventReader reads in the same way.
func TestOnlyEventRandom(t *testing.T) {
	pieces := []string{
		"data: {}\n", "data: {\"a\":1}\r\n", "data:x\n", "event: message\n", "event:\n", "event: endpoint\n", "id: 1\n", "id\r\n", ": c\n", "retry: 1\n",
		"\n", "\n", "\r\n", "\r", "other: 1\n", "data\n", " ",
	}
	taken := 0
	for range 100_000 {
		var b []byte
		for range 1 + rand.IntN(6) {
			b = append(b, pieces[rand.IntN(len(pieces))]...)
		}
		if rand.IntN(4) == 0 {
			b[rand.IntN(len(b))] = byte(rand.IntN(256))
		}
		data := onlyEvent(b)
		if data == nil {
			continue
		}
		taken++
		r := NewEventReader(bytes.NewReader(b), 1<<20)
		ev, err := r.Next()
		if err != nil || !bytes.Equal(ev.Data, data) || ev.Name != "" && ev.Name != "message" {
			t.Fatalf("%q: %q, but %+v, %v", b, data, ev, err)
		}
		if ev, err := r.Next(); err != io.EOF {
			t.Fatalf("%q: behind it %+v, %v", b, ev, err)
		}
	}
	if taken < 500 {
		t.Errorf("only %d events were taken", taken)
	}
}
