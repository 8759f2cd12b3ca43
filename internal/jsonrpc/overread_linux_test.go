package jsonrpc

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/mcptest/random"
)

// TestReadsStayInside puts data before an unreadable page: functions that read
// blocks must not read past the end of the data.
func TestReadsStayInside(t *testing.T) {
	page := unix.Getpagesize()
	memory, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	must.OK(t, unix.Mprotect(memory[page:], unix.PROT_NONE))
	r := random.New(t)
	for _, alphabet := range []string{"a", `\`, `"\{}[]ab`, `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"{`, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"} {
		for size := range 300 {
			d := memory[page-size : page : page]
			for i := range d {
				d[i] = alphabet[r.IntN(len(alphabet))]
			}
			if got, want := HasLineBreak(d), bytes.ContainsAny(d, "\r\n"); got != want {
				t.Errorf("HasLineBreak(%q) = %v", d, got)
			}
			if got, want := skipText(d, 0), stringEndByByte(d); got != want {
				t.Errorf("skipText(%q) = %d, want %d", d, got, want)
			}
			if size > 0 {
				d[0] = '{'
				checkBrackets(t, d)
			}
		}
	}
}
