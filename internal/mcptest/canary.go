package mcptest

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// A Canary is a local listener that must not receive connections.
type Canary struct {
	// Forms are URLs in various spellings that lead to the canary or elsewhere
	// in this network; none of them needs a name server.
	Forms []string
	heard atomic.Int32
}

// NewCanary starts a canary. It reads the forms from package safehttp, so it
// works only in tests of this module.
func NewCanary(t testing.TB) *Canary {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	c := &Canary{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			c.heard.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		<-done
		if n := c.heard.Load(); n > 0 {
			t.Errorf("%d connections to the canary", n)
		}
	})
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "internal/safehttp/testdata/forms.txt"))
	if err != nil {
		t.Fatalf("reading the forms: %v", err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	for line := range strings.Lines(string(text)) {
		form, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("form %s: %v", line, err)
		}
		if !strings.Contains(form, "a.localhost") && !strings.Contains(form, "localdomain") && !strings.Contains(form, "xn--") {
			c.Forms = append(c.Forms, strings.ReplaceAll(form, "PORT", port))
		}
	}
	return c
}

// ListenElsewhere listens at a local address other than the canary's.
func ListenElsewhere(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	return ln
}
