package stdio

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestWidePipes sees that what a server answers passes in few turns.
func TestWidePipes(t *testing.T) {
	p, err := newPipes()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(append(p.child[:], p.stdin, p.stdout, p.stderr))
	size, err := unix.FcntlInt(p.child[1].Fd(), unix.F_GETPIPE_SZ, 0) // either end will do
	if err != nil || size < wide {
		t.Errorf("the pipe of a server's answers holds %d bytes (%v), not %d", size, err, wide)
	}
}
