package loop

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/net/nettest"
)

// connected are the two ends of a connection.
func connected(t testing.TB) (near, far net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if near, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	return near, far
}

// pair is a connection that was adopted at both ends.
func pair(t testing.TB) (a, b *Conn) {
	t.Helper()
	near, far := connected(t)
	a, aok := Adopt(near).(*Conn)
	b, bok := Adopt(far).(*Conn)
	if !aok || !bok {
		t.Fatal("a connection was not adopted")
	}
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a, b
}

// TestConn holds a Conn to what all connections promise.
func TestConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		a, b := pair(t)
		return a, b, func() {
			a.Close()
			b.Close()
		}, nil
	})
}

// TestErrors are those of package net.
func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		fail func(a, b *Conn) error
		want error
	}{
		"closed, reading": {func(a, b *Conn) error {
			a.Close()
			_, err := a.Read(make([]byte, 1))
			return err
		}, net.ErrClosed},
		"closed, writing": {func(a, b *Conn) error {
			a.Close()
			_, err := a.Write([]byte("x"))
			return err
		}, net.ErrClosed},
		"late": {func(a, b *Conn) error {
			a.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, err := a.Read(make([]byte, 1))
			return err
		}, os.ErrDeadlineExceeded},
		"late, although something came": {func(a, b *Conn) error {
			b.Write([]byte("x"))
			a.SetDeadline(time.Unix(1, 0))
			_, err := a.Read(make([]byte, 1))
			return err
		}, os.ErrDeadlineExceeded},
		"half closed": {func(a, b *Conn) error {
			b.CloseWrite()
			_, err := a.Read(make([]byte, 1))
			return err
		}, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.fail(pair(t))
			if !errors.Is(err, tt.want) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
			var op *net.OpError
			if tt.want != io.EOF && !errors.As(err, &op) {
				t.Errorf("%T is not an error of package net", err)
			}
		})
	}
}

// A deadline that is taken back does not count, and one that is over neither.
func TestDeadlineMoves(t *testing.T) {
	a, b := pair(t)
	a.SetReadDeadline(time.Unix(1, 0))
	a.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	a.SetReadDeadline(time.Time{})
	time.AfterFunc(20*time.Millisecond, func() { b.Write([]byte("x")) })
	if n, err := a.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// What cannot be adopted stays what it is.
func TestNotAdopted(t *testing.T) {
	p, q := net.Pipe()
	defer p.Close()
	defer q.Close()
	if Adopt(p) != p {
		t.Error("a connection of no system was adopted")
	}
	a, _ := pair(t)
	if Adopt(a) != net.Conn(a) {
		t.Error("a connection was adopted twice")
	}
	c, other := connected(t)
	defer other.Close()
	c.Close()
	if Adopt(c) != c {
		t.Error("a connection was adopted that is closed")
	}
}

// TestWritesApart sees that what is written at the same time is not mixed, however
// often it has to wait.
func TestWritesApart(t *testing.T) {
	a, b := pair(t)
	const size = 4 << 20
	for _, text := range []string{"x", "y"} {
		go a.Write(bytes.Repeat([]byte(text), size))
	}
	got := make([]byte, 2*size)
	if _, err := io.ReadFull(b, got); err != nil {
		t.Fatal(err)
	}
	if first := got[:1]; bytes.Count(got[:size], first) != size {
		t.Errorf("only %d of the first %d bytes are of the first text", bytes.Count(got[:size], first), size)
	}
}

// TestDeadlineWhenClosed sees that a connection that is closed takes no deadline: its
// timer would keep it in memory.
func TestDeadlineWhenClosed(t *testing.T) {
	a, _ := pair(t)
	a.Close()
	for name, set := range map[string]func(time.Time) error{"both": a.SetDeadline, "read": a.SetReadDeadline, "write": a.SetWriteDeadline} {
		if err := set(time.Now().Add(time.Hour)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if a.in.timer != nil || a.out.timer != nil {
		t.Error("a timer runs")
	}
}

// TestOrder sees that what was done before something is written is known, to the race
// detector too, to whoever has read that, at either end.
func TestOrder(t *testing.T) {
	near, far := connected(t)
	defer near.Close()
	far = Adopt(far)
	defer far.Close()
	turn := 0
	go func() {
		if _, err := far.Read(make([]byte, 1)); err == nil && turn == 1 {
			turn = 2
		}
		far.Write([]byte("y"))
	}()
	turn = 1
	near.Write([]byte("x"))
	if _, err := near.Read(make([]byte, 1)); err != nil || turn != 2 {
		t.Errorf("turn %d, %v", turn, err)
	}
}
