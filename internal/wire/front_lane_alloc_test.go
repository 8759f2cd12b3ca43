//go:build !race

package wire

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"
)

// TestLaneAllocations holds one request and its answer to what they may cost.
func TestLaneAllocations(t *testing.T) {
	var served atomic.Int64
	text := bytes.Repeat([]byte("x"), 1000)
	_, addr := serve(t, laned(func(w LaneWriter, body []byte) bool {
		served.Add(1)
		w.JSON(200, time.Minute, append(w.Room(len(text)), text...))
		return true
	}))
	c := dial(t, addr)
	said, answer := []byte(post("x")), make([]byte, 4096)
	once := func() {
		c.Write(said)
		for n := 0; n < 1000; { // the head is shorter
			k, err := c.Read(answer[n:])
			if err != nil {
				t.Fatal(err)
			}
			if n += k; bytes.HasPrefix(answer, []byte("HTTP/1.1 200 OK\r\nDate")) {
				break // the handler's
			}
		}
	}
	once()
	if n := testing.AllocsPerRun(100, once); n > 1 {
		t.Errorf("%v allocations", n)
	}
	if served.Load() == 0 {
		t.Error("the lane was not used")
	}
}
