package mcp

import (
	"testing"
	"unicode/utf8"
)

func FuzzHeaderValue(f *testing.F) {
	for _, s := range []string{"", "plain", " padded ", "é", "=?base64?x?=", "=?base64?ZWNobw==?=", "a\tb", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if said, ok := DecodeHeader(s); ok && !utf8.ValidString(said) {
			t.Errorf("%q decodes to %q", s, said)
		}
		if !utf8.ValidString(s) {
			return
		}
		if said, ok := DecodeHeader(EncodeHeader(s)); !ok || said != s {
			t.Errorf("%q came back as %q, %v", s, said, ok)
		}
	})
}

// TestDecodeHeader refuses ambiguous values.
func TestDecodeHeader(t *testing.T) {
	for value, want := range map[string]string{"plain": "plain", "=?base64?w6k=?=": "é", "=?base64?w6k=": "=?base64?w6k="} {
		if got, ok := DecodeHeader(value); !ok || got != want {
			t.Errorf("%q = %q, %v", value, got, ok)
		}
	}
	for _, value := range []string{"=?base64?!!!?=", "=?base64?w6l=?=", "=?base64?/w==?=", "=?base64?w6k?=", "é", "a\x00"} {
		if got, ok := DecodeHeader(value); ok {
			t.Errorf("%q was decoded to %q", value, got)
		}
	}
}
