//go:build !linux

package loop

import (
	"io"
	"net"
	"os"
	"syscall"
)

// A Loop is there on Linux only; elsewhere all who wait have a goroutine.
type Loop struct {
	Turn Turn
	Buf  [BufferSize]byte
}

// Read reads nothing.
func (*Loop) Read(uintptr) (int, error) { return 0, syscall.EINVAL }

// A File is one that a loop waits for.
type File struct {
	io.ReadCloser
	syscall.Conn
}

// ReadNow reads nothing.
func (*File) ReadNow([]byte) (int, error) { return 0, syscall.EINVAL }

// Listen is not possible.
func (*File) Listen(Listener) {}

// Unlisten undoes Listen.
func (*File) Unlisten() {}

// Seen never changes.
func (*File) Seen() uint64 { return 0 }

// Loop is nil.
func (*File) Loop() *Loop { return nil }

// Move is not possible.
func (*File) Move(*Loop) bool { return false }

// A Conn is a File that is a connection.
type Conn struct {
	*File
	net.Conn
}

// Adopt returns nc.
func Adopt(nc net.Conn) net.Conn { return nc }

// AdoptPipe returns p.
func AdoptPipe(p *os.File) io.ReadCloser { return p }

// All is none.
func All() []*Loop { return nil }
