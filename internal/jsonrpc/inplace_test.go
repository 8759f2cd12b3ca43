package jsonrpc

import (
	"bytes"
	"testing"
)

// TestCutIsSet compares removing in place with removing in a copy.
func TestCutIsSet(t *testing.T) {
	for _, obj := range []string{
		`{}`, `{"a":1}`, `{"a":1,"b":{"c":2,"d":"x"},"e":[1,{"a":3}]}`, ` { "b" : { "c" : 2 } , "a" : 1 } `, `{"\u0061":1,"z":"` + string(bytes.Repeat([]byte("y"), 200)) + `"}`, `[1]`,
	} {
		for _, path := range [][]string{{"a"}, {"b"}, {"e"}, {"z"}, {"b", "c"}, {"b", "d"}, {"e", "a"}, {"a", "b"}, {"none"}} {
			want := Set([]byte(obj), nil, path...)
			if got := Cut([]byte(obj), path...); string(got) != string(want) {
				t.Errorf("Cut(%s, %q) = %s, want %s", obj, path, got, want)
			}
		}
	}
}

func TestAdd(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: `{"m":1}`, ` { } `: ` {"m":1 } `, `{"a":1}`: `{"a":1,"m":1}`, ` {"a":"}" } `: ` {"a":"}","m":1 } `, `[]`: `[]`, ``: ``, `{"\u006d":2}`: `{"\u006d":2}`,
		// The envelope of a large answer may continue after the result.
		`{"a":[{}]},"x":{"b":2}`: `{"a":[{}],"m":1},"x":{"b":2}`,
	} {
		for _, room := range []int{0, 64} {
			for _, inPlace := range []bool{false, true} {
				obj := append(make([]byte, 0, len(in)+room), in...)
				if got := Add(obj, "m", "1", inPlace); string(got) != want {
					t.Errorf("Add(%q) = %q, want %q", in, got, want)
				}
				if string(obj) != in && !inPlace {
					t.Errorf("Add changed %q to %q", in, obj)
				}
			}
		}
	}
}
