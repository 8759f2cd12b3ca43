//go:build linux || darwin

package http1

import (
	"bufio"
	"crypto/sha256"
	"io"
	"net"
	"strings"
	"testing"
)

// TestClientStreams checks that a large response passes through without being
// buffered, and that events arrive when they are sent.
func TestClientStreams(t *testing.T) {
	for _, length := range []string{"Content-Length: 20971520\r\n", "Transfer-Encoding: chunked\r\n", ""} {
		t.Run("20 MiB/"+length, func(t *testing.T) {
			c := newTestClient(t)
			block := []byte(strings.Repeat("0123456789abcdef", 4<<10))
			p := play(t, func(conn net.Conn, br *bufio.Reader) {
				if _, _, err := heardRequest(br); err != nil {
					return
				}
				_, _ = io.WriteString(conn, ok11+length+"\r\n")
				for range 320 {
					if strings.HasPrefix(length, "T") {
						_, _ = conn.Write([]byte("10000\r\n" + string(block) + "\r\n"))
						continue
					}
					_, _ = conn.Write(block)
				}
				if strings.HasPrefix(length, "T") {
					_, _ = io.WriteString(conn, "0\r\n\r\n")
				}
			})
			resp := roundTrip(t, c, p.url)
			defer resp.Body.Close()
			part := make([]byte, 1000)
			if _, err := io.ReadFull(resp.Body, part); err != nil {
				t.Fatal(err)
			}
			got, want := sha256.New(), sha256.New()
			got.Write(part)
			n, err := io.Copy(got, resp.Body)
			for range 320 {
				want.Write(block)
			}
			if err != nil || n != 20<<20-1000 || string(got.Sum(nil)) != string(want.Sum(nil)) {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	t.Run("events", func(t *testing.T) {
		c := newTestClient(t)
		more := make(chan string)
		p := play(t, func(conn net.Conn, br *bufio.Reader) {
			_, _, _ = heardRequest(br)
			_, _ = io.WriteString(conn, ok11+"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
			for text := range more {
				_, _ = io.WriteString(conn, text)
			}
		})
		defer close(more)
		resp := roundTrip(t, c, p.url)
		defer resp.Body.Close()
		buf := make([]byte, 100)
		for _, step := range [][2]string{{"5\r\nfirst", "first"}, {"\r\n3\r\ntwo\r\n5\r\nth", "twoth"}, {"ree", "ree"}} {
			more <- step[0]
			if n, err := io.ReadAtLeast(resp.Body, buf, len(step[1])); err != nil || string(buf[:n]) != step[1] {
				t.Errorf("got %q, %v; want %q", buf[:n], err, step[1])
			}
		}
		more <- "\r\n1\r\n!\r\n0\r\n\r\n"
		if n, err := resp.Body.Read(buf); string(buf[:n]) != "!" || err != io.EOF {
			t.Errorf("the end was not seen with the last event: %q, %v", buf[:n], err)
		}
	})
}
