package decisions

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// overTLS returns settings with which the gateway serves HTTPS, and makes the client of
// the world use it.
func (w *world) overTLS(settings map[string]any) map[string]any {
	w.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	mcptest.NewCertificate(w.t, "127.0.0.1").Write(w.t, w.dir)
	settings["server"] = map[string]any{"tls": map[string]any{"cert": "cert.pem", "key": "key.pem"}}
	return settings
}

// reluctant returns a client whose connections take in little of what is not read.
func reluctant(http2 bool) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil && !http2 { // each stream of HTTP/2 has its own bound
				err = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			}
			return conn, err
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: http2,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10},
	}
}

// TestUnreadAnswers checks that the answers that a key does not read count for it: the
// key alone makes no more calls, until they are read or their connections have ended.
func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	const (
		size  = 6 << 20 // more than sockets take in
		share = 32 << 20
		most  = 2*(share*3/4)/size + 1 // an answer counts half at first
	)
	settings := func(w *world) map[string]any {
		return map[string]any{
			"mcpServers": map[string]any{server: w.entry(server, map[string]any{envAsks: "1"})},
			"limits":     map[string]any{"unfinishedPerKey": share},
		}
	}
	plain := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil})
	plain.start(settings(plain))
	secure := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil})
	secure.start(secure.overTLS(settings(secure)))
	for _, c := range []struct {
		name   string
		w      *world
		http2  bool
		accept string
	}{
		{"json", plain, false, firstHeader.Get("Accept")},
		{"events", plain, false, "text/event-stream"},
		{"json over TLS", secure, false, firstHeader.Get("Accept")},
		{"json over HTTP2", secure, true, firstHeader.Get("Accept")},
		{"events over HTTP2", secure, true, "text/event-stream"},
	} {
		t.Run("door/14 "+c.name, func(t *testing.T) {
			tr := reluctant(c.http2)
			defer tr.CloseIdleConnections()
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			begun, last := 0, ""
			for ; begun < 3*most; begun++ {
				resp, err := c.w.callLarge(ctx, &http.Client{Transport: tr}, keyAnn, c.accept, size)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if (resp.ProtoMajor == 2) != c.http2 {
					t.Fatal(resp.Proto)
				}
				first := make([]byte, 4<<10)
				n, _ := io.ReadAtLeast(resp.Body, first, 100)
				if last = string(first[:n]); !strings.Contains(last, "xxx") {
					break
				}
			}
			if begun < 3 || begun > most || !overShare(last) {
				t.Errorf("after %d calls: %.300s", begun, last)
			}
			if text := c.w.readLarge(keyAnn, 10); !overShare(text) {
				t.Errorf("a small call: %.300s", text)
			}
			if a := c.w.streamable("/mcp", keyAnn, modern).ask(mcp.MethodToolsList, nil, nil); !overShare(a.raw) {
				t.Errorf("a list: %.300s", a.raw)
			}
			if text := c.w.readLarge(keyBob, size); len(text) < size {
				t.Errorf("another key: %.300s", text)
			}
			hangUp()
			c.w.until("the key calls again", func() bool { return len(c.w.readLarge(keyAnn, size)) > size })
		})
	}
}

// TestUnreadSmallAnswers checks that answers count that are written at once, if a client
// takes in nothing of them.
func TestUnreadSmallAnswers(t *testing.T) {
	t.Parallel()
	const size, share = 60 << 10, 12 << 20
	w := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil})
	w.start(w.overTLS(map[string]any{
		"mcpServers": map[string]any{server: w.entry(server, map[string]any{envAsks: "1"})},
		"limits":     map[string]any{"unfinishedPerKey": share},
	}))
	tr := reluctant(true)
	tr.HTTP2.MaxReceiveBufferPerStream = 1
	defer tr.CloseIdleConnections()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	begun := 0
	for ; begun < 2*share/size; begun++ {
		resp, err := w.callLarge(ctx, &http.Client{Transport: tr}, keyAnn, firstHeader.Get("Accept"), size)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.ContentLength < size {
			break
		}
	}
	if begun < 3 || begun > share*3/4/size+1 {
		t.Errorf("refused after %d calls", begun)
	}
	if text := w.readLarge(keyAnn, 10); !overShare(text) {
		t.Errorf("a small call: %.300s", text)
	}
	if text := w.readLarge(keyBob, size); len(text) < size {
		t.Errorf("another key: %.300s", text)
	}
	hangUp()
	w.until("the key calls again", func() bool { return len(w.readLarge(keyAnn, size)) > size })
}

// TestReadAnswers checks that a client that reads its answers may have many large ones
// at once.
func TestReadAnswers(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		w := newWorld(t, map[string][]string{keyAnn: nil})
		settings := map[string]any{"mcpServers": map[string]any{server: w.entry(server, map[string]any{envAsks: "1"})}}
		if http2 {
			settings = w.overTLS(settings)
		}
		w.start(settings)
		for _, c := range []struct{ calls, size int }{{64, 1 << 20}, {16, 10 << 20}} {
			t.Run(fmt.Sprintf("door/14 %d answers of %d bytes, HTTP2 %t", c.calls, c.size, http2), func(t *testing.T) {
				var all sync.WaitGroup
				for range c.calls {
					all.Go(func() {
						for range 2 {
							if text := w.readLarge(keyAnn, c.size); len(text) < c.size {
								t.Errorf("%.300s", text)
							}
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// callLarge begins a call whose answer has so many bytes.
func (w *world) callLarge(ctx context.Context, client *http.Client, as, accept string, size int) (*http.Response, error) {
	header := firstHeader.Clone()
	header.Set("Accept", accept)
	header.Set("Mcp-Protocol-Version", mcp.V2026_07_28)
	header.Set("Mcp-Method", mcp.MethodToolsCall)
	header.Set("Mcp-Name", server+"__large")
	params := map[string]any{"name": server + "__large", "arguments": map[string]any{"bytes": size}}
	return w.sendBy(client, ctx, http.MethodPost, "/mcp", as, header, request(1, mcp.MethodToolsCall, params, modern))
}

// readLarge makes such a call and reads its answer.
func (w *world) readLarge(as string, size int) string {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	resp, err := w.callLarge(ctx, &w.client, as, firstHeader.Get("Accept"), size)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
