package loop

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pipe is one whose end for reading was adopted.
func pipe(t *testing.T) (*File, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f, ok := AdoptPipe(r).(*File)
	if !ok {
		t.Fatal("the pipe was not adopted")
	}
	t.Cleanup(func() {
		f.Close()
		w.Close()
	})
	return f, w
}

// told is a Listener.
type told chan bool

func (c told) Ready(_ *Loop, last bool) { c <- last }

func (c told) next(t *testing.T) (last bool) {
	t.Helper()
	select {
	case last = <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody was told")
	}
	return last
}

func TestPipe(t *testing.T) {
	f, w := pipe(t)
	got := make(chan error, 1)
	go func() {
		b, err := io.ReadAll(f)
		if string(b) != "onetwo" {
			err = errors.New("read " + string(b))
		}
		got <- err
	}()
	w.WriteString("one")
	w.WriteString("two")
	w.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestCloseEndsReading(t *testing.T) {
	f, _ := pipe(t)
	got := make(chan error, 1)
	go func() {
		_, err := f.Read(make([]byte, 1))
		got <- err
	}()
	for f.in.waiting.Load() == 0 {
		<-time.After(time.Millisecond)
	}
	f.Close()
	if err := <-got; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if err := f.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed again: %v", err)
	}
}

// TestListen sees that a listener hears of what was there before it, of what comes,
// and of the end; and that whoever reads with a goroutine is told as well.
func TestListen(t *testing.T) {
	f, w := pipe(t)
	w.WriteString("before")
	heard := make(told, 10)
	f.Listen(heard)
	heard.next(t)
	b := make([]byte, 100)
	if n, err := f.Read(b); string(b[:n]) != "before" || err != nil {
		t.Errorf("%q, %v", b[:n], err)
	}
	for len(heard) > 0 { // once for what was there, once for its beginning
		<-heard
	}
	seen := f.Seen()
	go w.WriteString("after")
	if n, err := f.Read(b); string(b[:n]) != "after" || err != nil {
		t.Errorf("%q, %v", b[:n], err)
	}
	if heard.next(t) || f.Seen() == seen {
		t.Error("it was told that this is the end, or nothing was seen")
	}
	f.Unlisten()
	w.WriteString("more")
	f.Read(b)
	f.Listen(heard)
	w.Close()
	for !heard.next(t) {
	}
}

// TestMove sees that what comes is told by the loop that waits for it, also of what
// came before it moved.
func TestMove(t *testing.T) {
	f, w := pipe(t)
	other, err := newLoop()
	if err != nil {
		t.Fatal(err)
	}
	from := f.Loop()
	files := from.Files()
	heard := make(told, 10)
	f.Listen(heard)
	w.WriteString("x")
	heard.next(t)
	if !f.Move(other) || f.Loop() != other || from.Files() != files-1 || other.Files() != 1 {
		t.Fatal("it has not moved")
	}
	heard.next(t)
	f.Close()
	if f.Move(from) || other.Files() != 0 {
		t.Error("it moves when it is closed")
	}
}

// TestUsedDescriptor sees that a number is not given to others while it is used.
func TestUsedDescriptor(t *testing.T) {
	f, _ := pipe(t)
	raw, _ := f.SyscallConn()
	err := raw.Control(func(fd uintptr) {
		f.Close()
		if _, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err != nil {
			t.Errorf("closed while it was used: %v", err)
		}
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := unix.FcntlInt(uintptr(f.fd.number), unix.F_GETFD, 0); err != unix.EBADF {
		t.Errorf("not closed afterwards: %v", err)
	}
	if err := raw.Control(func(uintptr) { t.Error("used when it is closed") }); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestManyFiles has files come and go while others are used.
func TestManyFiles(t *testing.T) {
	t.Run("all", func(t *testing.T) {
		for range 20 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for range 50 {
					comeAndGo(t)
				}
			})
		}
	})
	for _, l := range All() {
		if n := l.Files(); n != 0 {
			t.Errorf("%d files are left", n)
		}
	}
}

func comeAndGo(t *testing.T) {
	a, b := pair(t)
	go b.Write([]byte("hello"))
	got := make([]byte, 5)
	if _, err := io.ReadFull(a, got); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	b.Close()
	if _, err := a.Read(got); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	a.Close()
}
