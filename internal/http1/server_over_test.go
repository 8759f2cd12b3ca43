//go:build linux || darwin

package http1

import (
	"io"
	"net/http"
	"runtime"
	"testing"
	"weak"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestServerHandedOver checks that the buffers of a connection are free when
// net/http has it.
func TestServerHandedOver(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	f, address := serve(t, func(http.ResponseWriter, *http.Request) {
		close(began)
		<-end
	})
	defer close(end)
	client := dial(t, address)
	var kept weak.Pointer[conn]
	must.Await(t, "the connection is accepted", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for c := range f.conns {
			kept = weak.Make(c)
		}
		return len(f.conns) == 1
	})
	io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-began
	must.Await(t, "the memory is free", func() bool {
		runtime.GC()
		return kept.Value() == nil
	})
}
