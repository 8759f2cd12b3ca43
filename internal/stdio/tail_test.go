package stdio

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	var tail Tail
	if got := tail.Lines(10); got != nil {
		t.Errorf("an empty tail has %q", got)
	}
	for i := range 50_000 {
		fmt.Fprintf(&tail, "line %d\r\n", i)
	}
	fmt.Fprint(&tail, "unfinished")
	if got, want := tail.Lines(3), []string{"line 49998", "line 49999", "unfinished"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	size := 0
	for _, line := range tail.Lines(0) {
		size += len(line) + 2
	}
	if size < tailSize-20 || size > tailSize+2 {
		t.Errorf("%d bytes are kept", size)
	}
	fmt.Fprint(&tail, strings.Repeat("y", 3*tailSize))
	if got := tail.Lines(0); len(got) != 1 || len(got[0]) != tailSize {
		t.Errorf("a flood leaves %d lines", len(got))
	}
}

func TestTailEscapes(t *testing.T) {
	var tail Tail
	fmt.Fprint(&tail, "tab\tred \x1b[31m bell\a nul\x00 bad\xff bidi\u202e héllo 你好 del\x7f")
	want := "tab\tred \\x1b[31m bell\\a nul\\x00 bad\\xff bidi\\u202e héllo 你好 del\\x7f"
	if got := tail.Lines(1)[0]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTailFollow(t *testing.T) {
	var tail Tail
	fmt.Fprint(&tail, "before\no")
	lines, stop := tail.Follow(10)
	slow, _ := tail.Follow(1)
	var heard []string
	tail.Hear(func(line string) { heard = append(heard, line) })
	fmt.Fprint(&tail, "ne\ntw")
	fmt.Fprint(&tail, "o\n"+strings.Repeat("z", tailLine+5)+"\nrest")
	tail.close()
	var got []string
	for line := range lines {
		got = append(got, line)
	}
	want := []string{"before", "one", "two", strings.Repeat("z", tailLine), "zzzzz", "rest"}
	if !slices.Equal(got, want) || !slices.Equal(heard, want) {
		t.Errorf("followed %.60q, heard %.60q", got, heard)
	}
	if line, ok := <-slow; line != "before" || !ok {
		t.Errorf("the slow one got %q", line)
	}
	stop()
	late, _ := tail.Follow(1)
	if line, ok := <-late; !ok || line[0] != 'z' {
		t.Errorf("who comes late got %.60q", line)
	}
	if _, ok := <-late; ok {
		t.Error("a tail that has ended has another line")
	}
}
