package stdio

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestWidePipes checks that the pipe for a server's responses is large.
func TestWidePipes(t *testing.T) {
	p, err := newPipes()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(append(p.child[:], p.stdin, p.stdout, p.stderr))
	size, err := unix.FcntlInt(p.child[1].Fd(), unix.F_GETPIPE_SZ, 0) // both ends have the same size
	if err != nil || size < wide {
		t.Errorf("the pipe of a server's answers holds %d bytes (%v), not %d", size, err, wide)
	}
}
