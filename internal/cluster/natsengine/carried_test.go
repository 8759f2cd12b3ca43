package natsengine

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/nats-io/nats.go"
	"golang.org/x/net/nettest"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

func openCarrier(t testing.TB, url string) *Carrier {
	t.Helper()
	c, err := OpenCarrier(Options{Cluster: "team", Node: "a", URLs: []string{url}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// carry returns both ends of a connection between two replicas.
func carry(t testing.TB, url string) (dialled, accepted *carried) {
	t.Helper()
	ends, err := tryCarry(openCarrier(t, url), openCarrier(t, url))
	if err != nil {
		t.Fatal(err)
	}
	return ends[0], ends[1]
}

func tryCarry(from, to *Carrier) (ends [2]*carried, err error) {
	ln, err := to.Listen("laptop")
	if err != nil {
		return ends, err
	}
	defer ln.Close()
	if err := to.conn.Flush(); err != nil { // then NATS knows the listener
		return ends, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	dialled, err := from.Dial(ctx, "laptop")
	if err != nil {
		return ends, err
	}
	accepted, err := ln.Accept()
	if err != nil {
		return ends, err
	}
	return [2]*carried{dialled.(*carried), accepted.(*carried)}, nil
}

// TestCarriedConn checks that a carried connection behaves like any other one,
// also over the websocket of NATS.
func TestCarriedConn(t *testing.T) {
	server := mcptest.StartNATS(t)
	for name, url := range map[string]string{"tcp": server.URL, "websocket": server.Websocket} {
		t.Run("cluster/carried/conn/"+name, func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				from, to := openCarrier(t, url), openCarrier(t, url)
				ends, err := tryCarry(from, to)
				if err != nil {
					return nil, nil, nil, err
				}
				return ends[0], ends[1], func() { ends[0].Close(); ends[1].Close(); from.Close(); to.Close() }, nil
			})
		})
	}
}

// within fails unless f returns soon.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: not within 30 s", what)
	}
}

// TestCarriedLarge sends more than the window in both directions at once.
func TestCarriedLarge(t *testing.T) {
	a, b := carry(t, mcptest.StartNATS(t).URL)
	text := make([]byte, 8*window+12345)
	rand.Read(text)
	var both sync.WaitGroup
	for _, pair := range [][2]*carried{{a, b}, {b, a}} {
		both.Go(func() {
			if n, err := pair[0].Write(text); err != nil || n != len(text) {
				t.Errorf("%d bytes written: %v", n, err)
			}
		})
		both.Go(func() {
			got := make([]byte, len(text))
			if _, err := io.ReadFull(pair[1], got); err != nil || !bytes.Equal(got, text) {
				t.Errorf("what arrived differs: %v", err)
			}
		})
	}
	within(t, "all is sent", both.Wait)
}

// keeps returns the memory for what one end has not read. The caller holds its
// mutex.
func keeps(c *carried) (n int) {
	for _, part := range c.unread {
		n += cap(part) + int(unsafe.Sizeof(part))
	}
	return n
}

// TestCarriedWindow checks that a reader that does not read stops the writer, and
// that what it keeps is bounded.
func TestCarriedWindow(t *testing.T) {
	a, b := carry(t, mcptest.StartNATS(t).URL)
	for i := range 1000 { // small parts do not take more memory
		a.Write([]byte{byte(i)})
	}
	a.SetWriteDeadline(time.Now().Add(time.Second))
	n, err := a.Write(make([]byte, 4*window))
	n += 1000
	if ne, ok := errors.AsType[net.Error](err); n != window || !ok || !ne.Timeout() {
		t.Errorf("%d bytes written: %v", n, err)
	}
	b.mu.Lock()
	if n := keeps(b); n > 2*window {
		t.Errorf("%d bytes are kept", n)
	}
	b.mu.Unlock()
	a.SetWriteDeadline(time.Time{})
	within(t, "the rest", func() {
		go a.Write(make([]byte, window))
		if _, err := io.ReadFull(b, make([]byte, 2*window)); err != nil {
			t.Error(err)
		}
	})
}

// TestCarriedEnd checks how a connection ends: what was sent before a Close is
// read; after the loss of either end, or of NATS, it breaks.
func TestCarriedEnd(t *testing.T) {
	t.Run("cluster/carried/close", func(t *testing.T) {
		a, b := carry(t, mcptest.StartNATS(t).URL)
		a.Write([]byte("last words"))
		a.Close()
		within(t, "the end", func() {
			if text, err := io.ReadAll(b); err != nil || string(text) != "last words" {
				t.Errorf("%q, %v", text, err)
			}
			for err := error(nil); err == nil; {
				_, err = b.Write([]byte("too late"))
			}
		})
	})
	t.Run("cluster/carried/lost", func(t *testing.T) {
		a, b := carry(t, mcptest.StartNATS(t).URL)
		b.carrier.conn.Close() // as if its process had ended
		within(t, "the loss is noticed", func() {
			if _, err := a.Read(make([]byte, 1)); !errors.Is(err, errReset) {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("cluster/carried/NATS lost", func(t *testing.T) {
		server := mcptest.StartNATS(t)
		a, b := carry(t, server.URL)
		server.Down()
		within(t, "the loss is noticed", func() {
			for _, end := range []*carried{a, b} {
				if _, err := end.Read(make([]byte, 1)); err == nil {
					t.Error("there was something to read")
				}
				if _, err := end.Write(make([]byte, 1)); err == nil {
					t.Error("something was sent")
				}
			}
		})
		server.Restart()
		within(t, "a new connection", func() {
			for err := io.EOF; err != nil; {
				var ends [2]*carried
				if ends, err = tryCarry(a.carrier, b.carrier); err == nil {
					ends[0].Close()
					ends[1].Close()
				}
			}
		})
	})
	t.Run("cluster/carried/absent", func(t *testing.T) {
		c := openCarrier(t, mcptest.StartNATS(t).URL)
		began := time.Now()
		_, err := c.Dial(t.Context(), "nowhere")
		if gone, ok := errors.AsType[*net.DNSError](err); !ok || !gone.IsNotFound || time.Since(began) > 5*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
	t.Run("cluster/carried/no answer", func(t *testing.T) {
		c := openCarrier(t, mcptest.StartNATS(t).URL)
		mute, err := c.conn.SubscribeSync(c.nodeSubject("mute"))
		if err != nil {
			t.Fatal(err)
		}
		defer mute.Unsubscribe()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := c.Dial(ctx, "mute"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// waiting reads nothing before the connection is broken.
type waiting struct{ *carried }

func (w waiting) Read(b []byte) (int, error) {
	w.mu.Lock()
	for w.err == nil {
		w.changed.Wait()
	}
	w.mu.Unlock()
	return w.carried.Read(b)
}

// TestCarriedForged sends frames that no replica sends. They open nothing, break at
// most their own connection, and are not answered at other subjects.
func TestCarriedForged(t *testing.T) {
	server := mcptest.StartNATS(t)
	c := openCarrier(t, server.URL)
	ln, err := c.Listen("target")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	must.OK(t, c.conn.Flush())
	thief, err := nats.Connect(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close()
	heard, err := thief.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	frame := func(kind byte, number byte, more int) []byte {
		return append([]byte{kind, 0, 0, 0, 0, 0, 0, 0, number}, make([]byte, more)...)
	}
	to := c.nodeSubject("target")
	for _, m := range []nats.Msg{
		{Subject: to}, {Subject: to, Data: []byte("o")}, {Subject: to, Data: frame(frameOpen, 9, 0)},
		{Subject: to, Reply: "$KV.aio_team_live.member.x", Data: frame(frameOpen, 9, 0)},
		{Subject: to, Reply: c.endPrefix(), Data: frame(frameOpen, 9, 0)},
		{Subject: to, Reply: c.endPrefix() + strings.Repeat("A", 25) + ".", Data: frame(frameOpen, 9, 0)},
		{Subject: to, Reply: c.endPrefix() + strings.Repeat("A", 26), Data: frame(frameData, 9, 100)},
	} {
		must.OK(t, thief.PublishMsg(&m))
	}
	must.OK(t, thief.Flush())
	for _, forged := range [][]byte{
		nil, []byte("d"), frame(frameData, 1, 10), frame(frameEnd, 7, 0), bytes.Repeat([]byte{0xff}, 4096), frame('?', 0, 10),
	} {
		a, b := carry(t, server.URL)
		for _, reply := range []string{"", a.own, b.own, "elsewhere"} {
			for _, end := range []*carried{a, b} {
				must.OK(t, thief.PublishMsg(&nats.Msg{Subject: end.own, Reply: reply, Data: forged}))
			}
		}
		for _, end := range []*carried{a, b} {
			end.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			if n, err := end.Read(make([]byte, 1)); err == nil {
				t.Errorf("%d bytes of %.20q were read", n, forged)
			}
			end.mu.Lock()
			if n := keeps(end); n > 2*window {
				t.Errorf("%d bytes are kept", n)
			}
			end.mu.Unlock()
		}
	}
	a, b := carry(t, server.URL)
	if _, err := a.Write(make([]byte, window)); err != nil {
		t.Fatal(err)
	}
	full := append(binary.BigEndian.AppendUint64([]byte{frameData}, window), make([]byte, 100)...)
	must.OK(t, a.carrier.conn.PublishRequest(b.own, a.own, full))
	within(t, "more than the window", func() {
		if n, err := io.Copy(io.Discard, waiting{b}); n != window || !errors.Is(err, errGap) {
			t.Errorf("%d bytes were read: %v", n, err)
		}
	})
	must.OK(t, c.conn.Flush())
	for {
		m, err := heard.NextMsg(100 * time.Millisecond)
		if err != nil {
			break
		}
		if strings.HasPrefix(m.Subject, "$KV") {
			t.Errorf("%s was written to", m.Subject)
		}
	}
	if n := len(ln.(*carriedListener).arrived); n != 0 {
		t.Errorf("%d connections were accepted", n)
	}
}

// TestCarriedFlood opens connections until no more are accepted.
func TestCarriedFlood(t *testing.T) {
	server := mcptest.StartNATS(t)
	c := openCarrier(t, server.URL)
	ln, err := c.Listen("laptop")
	if err != nil {
		t.Fatal(err)
	}
	thief, err := nats.Connect(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close()
	answers, err := thief.SubscribeSync(c.endPrefix() + "*")
	if err != nil {
		t.Fatal(err)
	}
	must.OK(t, c.conn.Flush())
	var accepted sync.WaitGroup
	accepted.Go(func() {
		for {
			if _, err := ln.Accept(); err != nil {
				return
			}
		}
	})
	for range 3 * maxCarried {
		must.OK(t, thief.PublishRequest(c.nodeSubject("laptop"), c.endPrefix()+rand.Text(), append([]byte{frameOpen}, make([]byte, 8)...)))
	}
	for range maxCarried {
		if _, err := answers.NextMsg(10 * time.Second); err != nil {
			t.Fatalf("fewer were accepted: %v", err)
		}
	}
	c.mu.Lock()
	open := len(c.conns)
	c.mu.Unlock()
	if open > maxCarried {
		t.Errorf("%d connections are open", open)
	}
	ln.Close()
	accepted.Wait()
}
