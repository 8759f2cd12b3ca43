package jsonrpc

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// request100 is a typical client request of about 100 bytes.
const request100 = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`

// sized returns a message of about n bytes with records as its payload.
func sized(n int, before, after string) []byte {
	var b bytes.Buffer
	b.WriteString(before)
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"record number %d","tags":["red","größe","x\ty"],"ok":true,"score":%d.25e2,"text":%q}`,
			i, i, i, strings.Repeat("lorem ipsum ", i%9))
	}
	b.WriteString(after)
	return b.Bytes()
}

func requestOf(n int) []byte {
	return sized(n, `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"rows":[`, `]}}}`)
}

func answerOf(n int) []byte {
	return sized(n, `{"jsonrpc":"2.0","id":17,"result":{"content":[`, `]}}`)
}

var sizes = []struct {
	name string
	n    int
}{{"100B", 0}, {"10KB", 10_000}, {"1MB", 1_000_000}}

func BenchmarkScan(b *testing.B) {
	for _, size := range sizes {
		data := []byte(request100)
		if size.n > 0 {
			data = requestOf(size.n)
		}
		b.Run(size.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Scan(data, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	text := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("日本語 text ", 60_000) + `"}}}`)
	b.Run("1MB-cjk", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := Scan(text, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPeekAnswer(b *testing.B) {
	for _, size := range sizes {
		data := answerOf(size.n)
		b.Run(size.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, ok := PeekAnswer(data); !ok {
					b.Fatal("not recognised")
				}
			}
		})
	}
}

func BenchmarkScanAnswer(b *testing.B) {
	for _, size := range sizes {
		data := answerOf(size.n)
		b.Run(size.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ScanAnswer(data, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSet(b *testing.B) {
	for _, size := range sizes {
		msg, err := Scan(requestOf(size.n), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(size.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Set(msg.Params, []byte(`"other"`), "name")
			}
		})
	}
}
