package jsonrpc

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/random"
)

// endByByte is skipValue for an object or an array, byte by byte.
func endByByte(d []byte) int {
	level, inside := 0, false
	for i := 0; i < len(d); i++ {
		switch c := d[i]; {
		case c == '\\' && !inside:
			return -1
		case c == '\\':
			i++
		case c == '"':
			inside = !inside
		case inside:
		case c == '{' || c == '[':
			level++
		case c == '}' || c == ']':
			if level--; level == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// checkBrackets compares the results for blocks with those of reading byte by
// byte.
func checkBrackets(t *testing.T, d []byte) {
	t.Helper()
	want := endByByte(d)
	if got := skipValue(d, 0); got != want && !backslashBehind(d, want) {
		t.Errorf("skipValue = %d, want %d, of %q", got, want, d)
	}
	if got := shapeEnd(d, 0, len(d)); got >= 0 && got != want {
		t.Errorf("shapeEnd = %d, want %d or an error, of %q", got, want, d)
	}
	inner := d[1:]
	if got, want := skipText(inner, 0), stringEndByByte(inner); got != want {
		t.Errorf("skipText = %d, want %d, of %q", got, want, inner)
	}
}

// backslashBehind reports whether there is a backslash outside strings in the
// block in which the value ends. Such a value may be refused.
func backslashBehind(d []byte, end int) bool {
	return end >= 0 && strings.ContainsRune(string(d[end:]), '\\')
}

func stringEndByByte(d []byte) int {
	for i := 0; i < len(d); i++ {
		switch d[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

func TestBracketsByByte(t *testing.T) {
	r := random.New(t)
	for _, alphabet := range []string{`"\{}[]ab`, `"\ab`, `{}[]"`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\{}[]`} {
		for range 4_000 {
			d := []byte{"{["[r.IntN(2)]}
			for range r.IntN(300) {
				d = append(d, alphabet[r.IntN(len(alphabet))])
			}
			checkBrackets(t, d)
		}
	}
}

func TestHasLineBreak(t *testing.T) {
	for size := range 200 {
		text := []byte(strings.Repeat("\x0b\x0c\x8a\x8d.", size))[:size]
		if HasLineBreak(text) {
			t.Fatalf("%d bytes without one have a line break", size)
		}
		for at := range text {
			for _, c := range []byte("\n\r") {
				was := text[at]
				if text[at] = c; !HasLineBreak(text) {
					t.Fatalf("%q at %d of %d bytes is not found", c, at, size)
				}
				text[at] = was
			}
		}
	}
}

func FuzzBrackets(f *testing.F) {
	f.Add(`["` + strings.Repeat(`\\`, 100) + `"]`)
	f.Add(`{"a":"` + strings.Repeat("x", 61) + `\"","b":[{}]}`)
	f.Fuzz(func(t *testing.T, rest string) {
		checkBrackets(t, append([]byte{'{'}, rest...))
	})
}
