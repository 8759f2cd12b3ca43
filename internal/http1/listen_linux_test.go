package http1

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestServerShutdownCrowd checks that clients that connect while a server shuts
// down are answered or refused. No connection may break.
func TestServerShutdownCrowd(t *testing.T) {
	t.Run("fault/T46 who connects at the very end", func(t *testing.T) {
		var answered atomic.Int64
		for range 5 {
			shutdownInCrowd(t, &answered)
			if t.Failed() {
				break
			}
		}
		t.Logf("%d requests were answered", answered.Load())
	})
}

func shutdownInCrowd(t *testing.T, answered *atomic.Int64) {
	ln, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	std := newStd(answers)
	std.ReadHeaderTimeout = time.Minute
	f := NewServer(std)
	go f.Serve(ln)
	var crowd sync.WaitGroup
	begun := make(chan struct{}, 1000)
	for range 8 {
		crowd.Go(func() {
			for {
				var dial *net.OpError
				err := askAlone(ln.Addr().String())
				switch {
				case err == nil:
					answered.Add(1)
				case errors.As(err, &dial) && dial.Op == "dial": // nothing was sent
					return
				default:
					t.Error(err)
					return
				}
				select {
				case begun <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 50 {
		<-begun
	}
	if err := f.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	crowd.Wait()
}

// askAlone sends one request on its own connection.
func askAlone(addr string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, post("x", "Connection: close\r\n")); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	_, err = io.ReadAll(resp.Body)
	return err
}
