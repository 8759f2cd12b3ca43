package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A client describes the requests to an endpoint.
type client struct {
	endpoint string
	then     string // where calls go once the session is open; empty for endpoint
	modern   bool
	key      string // bearer token; empty for none
	method   string
	tool     string
	// arguments of the tool; if empty, arguments that look like a search.
	arguments string
	// atLeast is the minimum size of the first answer; the others must have the
	// size of the first.
	atLeast int
}

// A sample is one round against one target.
type sample struct {
	calls   int
	elapsed time.Duration
	cpu     time.Duration
	latency []time.Duration // sorted
}

func (s sample) perSecond() float64 { return float64(s.calls) / s.elapsed.Seconds() }

// cpuPerCall is in microseconds.
func (s sample) cpuPerCall() float64 {
	return float64(s.cpu.Nanoseconds()) / 1e3 / float64(max(s.calls, 1))
}

// A wire is one connection with one session.
type wire struct {
	client
	host, path string
	conn       net.Conn
	in         *messageReader
	session    string
	call       []byte
	size       int
}

func (c client) dial(ctx context.Context, id int) (*wire, error) {
	w := &wire{client: c}
	if err := w.connect(ctx, c.endpoint); err != nil {
		return nil, err
	}
	err := w.greet()
	if err == nil && c.then != "" {
		w.conn.Close()
		if err = w.connect(ctx, c.then); err != nil {
			return nil, err
		}
	}
	if err == nil {
		err = w.open(id)
	}
	if err != nil {
		w.conn.Close()
		return nil, err
	}
	return w, nil
}

func (w *wire) connect(ctx context.Context, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	var d net.Dialer
	if w.conn, err = d.DialContext(ctx, "tcp", u.Host); err != nil {
		return err
	}
	w.host, w.path, w.in = u.Host, u.RequestURI(), newMessageReader(w.conn)
	return nil
}

const searchArguments = `{"pattern":"fox","limit":10}`

const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"
	modernMeta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modernVersion + `","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"}}`
)

// greet performs the handshake.
func (w *wire) greet() error {
	if w.modern {
		return nil
	}
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + legacyVersion +
		`","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`
	if err := w.exchange(w.request("POST", "initialize", hello)); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	w.session = w.in.header("Mcp-Session-Id")
	if err := w.exchange(w.request("POST", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		return fmt.Errorf("initialized: %w", err)
	}
	return nil
}

// open prepares the request and checks its first answer in full.
func (w *wire) open(id int) error {
	w.call = w.request("POST", w.method, w.message(id))
	if err := w.exchange(w.call); err != nil {
		return err
	}
	body := w.in.body()
	if i := bytes.Index(body, []byte("data:")); i >= 0 && strings.HasPrefix(w.in.header("Content-Type"), "text/event-stream") {
		body, _, _ = bytes.Cut(body[i+5:], []byte("\n"))
	}
	var answer struct {
		ID     int
		Result json.RawMessage
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.ID != id || len(answer.Result) < w.atLeast {
		return fmt.Errorf("unexpected answer to %s: %.300s", w.method, body)
	}
	w.size = len(w.in.body())
	return nil
}

func (w *wire) message(id int) string {
	params := ""
	if w.tool != "" {
		params = `"name":"` + w.tool + `","arguments":` + cmp.Or(w.arguments, searchArguments)
	}
	if w.modern {
		if params != "" {
			params += ","
		}
		params += modernMeta
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s}}`, id, w.method, params)
}

func (w *wire) request(verb, method, body string) []byte {
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", verb, w.path, w.host)
	if w.session != "" {
		b = fmt.Appendf(b, "Mcp-Session-Id: %s\r\n", w.session)
	}
	if w.key != "" {
		b = fmt.Appendf(b, "Authorization: Bearer %s\r\n", w.key)
	}
	if w.modern {
		b = fmt.Appendf(b, "MCP-Protocol-Version: %s\r\nMcp-Method: %s\r\n", modernVersion, method)
		if w.tool != "" {
			b = fmt.Appendf(b, "Mcp-Name: %s\r\n", w.tool)
		}
	} else if method != "initialize" {
		b = fmt.Appendf(b, "MCP-Protocol-Version: %s\r\n", legacyVersion)
	}
	return fmt.Appendf(b, "Content-Length: %d\r\n\r\n%s", len(body), body)
}

func (w *wire) exchange(request []byte) error {
	if _, err := w.conn.Write(request); err != nil {
		return err
	}
	if err := w.in.next(); err != nil {
		return err
	}
	if w.in.status()/100 != 2 {
		return fmt.Errorf("status %d: %.300s", w.in.status(), w.in.body())
	}
	return nil
}

// close ends the session and the connection.
func (w *wire) close() {
	if w.session != "" {
		// The round is over, so an error does not matter.
		_ = w.exchange(w.request("DELETE", "", ""))
	}
	w.conn.Close()
}

// run keeps n connections busy for the given time and counts the calls.
func (c client) run(ctx context.Context, n int, length time.Duration, cpu func() time.Duration) (sample, error) {
	wires := make([]*wire, 0, n)
	defer func() {
		for _, w := range wires {
			w.close()
		}
	}()
	for id := range n {
		w, err := c.dial(ctx, id+1)
		if err != nil {
			return sample{}, fmt.Errorf("client %s: %w", strconv.Itoa(id+1), err)
		}
		wires = append(wires, w)
	}
	// The target opens its own connections before the measurement starts.
	if _, err := busy(wires, length/4); err != nil {
		return sample{}, err
	}
	before, start := cpu(), time.Now()
	latency, err := busy(wires, length)
	s := sample{calls: len(latency), elapsed: time.Since(start), cpu: cpu() - before, latency: latency}
	slices.Sort(s.latency)
	return s, err
}

// busy makes calls on all connections for the given time.
func busy(wires []*wire, length time.Duration) ([]time.Duration, error) {
	latencies := make([][]time.Duration, len(wires))
	errs := make([]error, len(wires))
	stop := time.Now().Add(length)
	var wg sync.WaitGroup
	for i, w := range wires {
		wg.Go(func() { latencies[i], errs[i] = w.repeat(stop) })
	}
	wg.Wait()
	return slices.Concat(latencies...), errors.Join(errs...)
}

// repeat makes calls until stop.
func (w *wire) repeat(stop time.Time) ([]time.Duration, error) {
	latency := make([]time.Duration, 0, 1024)
	for now := time.Now(); now.Before(stop); {
		if err := w.exchange(w.call); err != nil {
			return latency, err
		}
		if len(w.in.body()) != w.size {
			return latency, fmt.Errorf("an answer of %d bytes, not %d: %.300s", len(w.in.body()), w.size, w.in.body())
		}
		then := now
		now = time.Now()
		latency = append(latency, now.Sub(then))
	}
	return latency, nil
}
