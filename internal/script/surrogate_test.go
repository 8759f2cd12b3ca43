package script

import "testing"

func TestWellFormed(t *testing.T) {
	for in, want := range map[string]string{
		`"a"`: `"a"`, `"\ud800"`: `"\ufffd"`, `"\udc00x"`: `"\ufffdx"`, `"\ud83d\ude00"`: `"\ud83d\ude00"`,
		`"\ud83d\ud83d\ude00"`: `"\ufffd\ud83d\ude00"`, `"\\ud800"`: `"\\ud800"`, `"\\\ud800"`: `"\\\ufffd"`, `"\u0001\ud800`: `"\u0001\ufffd`, `"\ud8`: `"\ud8`,
	} {
		if got := wellFormed(in); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}

func TestASCII(t *testing.T) {
	for in, want := range map[string]string{`"a\n"`: `"a\n"`, `"é文😀\u0001"`: `"\u00e9\u6587\ud83d\ude00\u0001"`, "\"\u007f\u0080\"": "\"\u007f\\u0080\""} {
		if got := ascii(in); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}
