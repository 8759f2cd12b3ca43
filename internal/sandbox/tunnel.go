package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// tunnel connects a client and a host. The first message of the client must be TLS
// for that very host: a server with several names would otherwise serve another
// one. If there is no connection, tunnel calls failed.
func (x *Proxy) tunnel(w http.ResponseWriter, r *http.Request, h host, name string, port uint16, failed func(error)) {
	target, err := h.dial(r.Context(), name, port)
	if err != nil {
		failed(err)
		return
	}
	defer target.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer client.Close()
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return
	}
	x.tunnels.Add(1)
	x.mu.Unlock()
	defer x.tunnels.Done()
	defer context.AfterFunc(x.life, func() { client.Close(); target.Close() })()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	first, err := hello(client, buffered.Reader, name, port)
	if err != nil {
		return
	}
	if first == nil && port == 80 {
		h.requests(client, buffered.Reader, name, port)
		return
	}
	if _, err := target.Write(first); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pass(target, buffered.Reader) })
	both.Go(func() { pass(client, target) })
	both.Wait()
}

// requests passes on the HTTP requests of a tunnel to port 80, each as one for the
// host of the tunnel: a server with several names would otherwise serve another one.
func (h host) requests(client net.Conn, from *bufio.Reader, name string, port uint16) {
	transport := h.transport(name, port)
	for {
		r, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		last := r.Close
		r.URL.Scheme, r.URL.Host, r.Host = "http", name, name
		resp, err := transport.RoundTrip(r)
		if err != nil {
			return
		}
		resp.Close = last
		err = resp.Write(client)
		resp.Body.Close()
		if err != nil || last {
			return
		}
	}
}

// pass copies one direction until it ends.
func pass(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	to.Close()
}

var errOtherName = i18n.Errorf("the first message is not TLS for the host of the tunnel", "首条消息不是发往隧道主机的 TLS")

// hello reads the first message of a client and returns its bytes. On other ports
// than 443, a protocol without TLS is allowed.
func hello(client net.Conn, from *bufio.Reader, name string, port uint16) ([]byte, error) {
	_ = client.SetReadDeadline(time.Now().Add(helloWait))
	defer client.SetReadDeadline(time.Time{})
	first, err := from.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] != 0x16 {
		if port == 443 {
			return nil, errOtherName
		}
		return nil, nil
	}
	var seen bytes.Buffer
	said := ""
	conn := readOnly{io.TeeReader(from, &seen)}
	// The handshake is aborted as soon as the hello is read.
	_ = tls.Server(conn, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		said = h.ServerName
		return nil, errOtherName
	}}).Handshake()
	if !strings.EqualFold(said, name) {
		return nil, errOtherName
	}
	return seen.Bytes(), nil
}

// readOnly is a connection that can only be read.
type readOnly struct{ r io.Reader }

func (c readOnly) Read(p []byte) (int, error)     { return c.r.Read(p) }
func (readOnly) Write(p []byte) (int, error)      { return 0, io.ErrClosedPipe }
func (readOnly) Close() error                     { return nil }
func (readOnly) LocalAddr() net.Addr              { return nil }
func (readOnly) RemoteAddr() net.Addr             { return nil }
func (readOnly) SetDeadline(time.Time) error      { return nil }
func (readOnly) SetReadDeadline(time.Time) error  { return nil }
func (readOnly) SetWriteDeadline(time.Time) error { return nil }
