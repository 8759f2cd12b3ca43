package daemon

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestControlSocketAppearsListening opens sockets while another goroutine looks
// for them, as commands do: every socket that is found answers.
func TestControlSocketAppearsListening(t *testing.T) {
	dir, err := os.MkdirTemp("", "aio") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path, done := filepath.Join(dir, "1.sock"), make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if _, err := os.Lstat(path); err != nil {
				continue
			}
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Errorf("a socket that can be found does not answer: %v", err)
				return
			}
			c.Close()
		}
	})
	for range 200 {
		// The previous socket is replaced while it is open, so there is always
		// one.
		ln, err := listenAt(t.Context(), path, filepath.Join(dir, "1.new"))
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
	}
	close(done)
	looking.Wait()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
