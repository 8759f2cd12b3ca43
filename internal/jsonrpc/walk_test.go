package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A node is a JSON value written with all the freedom that JSON allows: white
// space anywhere, any escape in any string.
type node struct {
	text  string // of a scalar
	keys  []string
	items []*node
	kind  byte // '{', '[' or 0
}

func genSpace() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune(" \t\n\r")), 0, 2, -1)
}

// quoted writes s as a JSON string with needless escapes.
func quoted(t *rapid.T, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case rapid.IntRange(0, 4).Draw(t, "escape") == 0 && r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		case r < 0x20 || r == '"' || r == '\\':
			fmt.Fprintf(&b, `\u%04x`, r)
		case r == '/' && rapid.Bool().Draw(t, "slash"):
			b.WriteString(`\/`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

var keyGen = rapid.SampledFrom([]string{"", "a", "b", "ab", "_meta", "key\\", "quo\"te", "größe", "日本", "😀", "\x00", "long key of more than eight bytes"})

func genNode(t *rapid.T, depth int) *node {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case kind == 0 && depth > 0:
		n := &node{kind: '{', keys: rapid.SliceOfNDistinct(keyGen, 0, 5, rapid.ID).Draw(t, "keys")}
		for range n.keys {
			n.items = append(n.items, genNode(t, depth-1))
		}
		return n
	case kind == 1 && depth > 0:
		n := &node{kind: '['}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			n.items = append(n.items, genNode(t, depth-1))
		}
		return n
	case kind == 2:
		return &node{text: quoted(t, rapid.String().Draw(t, "string"))}
	}
	return &node{text: rapid.SampledFrom([]string{"null", "true", "false", "0", "-1.5e+3", "12345678901234567890", `"}"`, `"\\"`, `"\""`, `"{["`}).Draw(t, "scalar")}
}

func genObject(t *rapid.T) *node {
	n := genNode(t, 4)
	for n.kind != '{' {
		n = &node{kind: '{', keys: []string{"a"}, items: []*node{n}}
	}
	return n
}

func (n *node) write(t *rapid.T, b *strings.Builder) {
	space := func() { b.WriteString(genSpace().Draw(t, "space")) }
	space()
	defer space()
	if n.kind == 0 {
		b.WriteString(n.text)
		return
	}
	b.WriteByte(n.kind)
	space()
	for i, item := range n.items {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.kind == '{' {
			space()
			b.WriteString(quoted(t, n.keys[i]))
			space()
			b.WriteByte(':')
		}
		item.write(t, b)
	}
	b.WriteByte(n.kind + 2)
}

func write(t *rapid.T, n *node) []byte {
	var b strings.Builder
	n.write(t, &b)
	return []byte(b.String())
}

// object decodes an object into raw members.
func object(t testing.TB, data []byte) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return m
}

func TestGetLikeEncodingJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := genObject(rt)
		data := write(rt, n)
		want := object(t, data)
		var keys []string
		for key, raw := range Members(data) {
			keys = append(keys, key)
			if string(raw) != string(want[key]) {
				rt.Fatalf("member %q of %s is %s, want %s", key, data, raw, want[key])
			}
			if got := Get(data, key); string(got) != string(want[key]) {
				rt.Fatalf("Get %q of %s is %s, want %s", key, data, got, want[key])
			}
			var text string
			isText := raw[0] == '"' && json.Unmarshal(raw, &text) == nil
			if got, ok := GetString(data, key); ok != isText || got != text {
				rt.Fatalf("GetString %q of %s is %q, %v, want %q, %v", key, data, got, ok, text, isText)
			}
			var items []json.RawMessage
			if raw[0] == '[' {
				if err := json.Unmarshal(raw, &items); err != nil {
					rt.Fatal(err)
				}
			}
			at := 0
			for item := range Elements(raw) {
				if at >= len(items) || string(item) != string(items[at]) {
					rt.Fatalf("element %d of %s is %s", at, raw, item)
				}
				at++
			}
			if at != len(items) {
				rt.Fatalf("%d elements of %s, want %d", at, raw, len(items))
			}
		}
		if !slices.Equal(keys, n.keys) {
			rt.Fatalf("keys of %s are %q, want %q", data, keys, n.keys)
		}
		if Get(data, "absent") != nil || Get(data, "a", "absent", "b") != nil {
			rt.Fatal("found what is not there")
		}
	})
}

func TestSetLikeEncodingJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		data := write(rt, genObject(rt))
		before := bytes.Clone(data)
		key := keyGen.Draw(rt, "key")
		value := bytes.TrimSpace(write(rt, genNode(rt, 2)))
		got := Set(data, value, key)
		want := object(t, data)
		want[key] = value
		if diff := cmp.Diff(want, object(t, got)); diff != "" {
			rt.Fatalf("Set(%s, %s, %q) = %s\n%s", data, value, key, got, diff)
		}
		old := Get(data, key)
		if old != nil && string(Set(got, old, key)) != string(data) {
			rt.Fatalf("setting %q of %s back gives %s", key, data, Set(got, old, key))
		}
		if old == nil && string(Set(got, nil, key)) != string(data) {
			rt.Fatalf("removing the new %q from %s gives %s, want %s", key, got, Set(got, nil, key), data)
		}
		delete(want, key)
		if diff := cmp.Diff(want, object(t, Set(data, nil, key))); diff != "" {
			rt.Fatalf("removing %q from %s\n%s", key, data, diff)
		}
		if !bytes.Equal(data, before) {
			rt.Fatal("Set changed its argument")
		}
	})
}

func TestSetPath(t *testing.T) {
	for _, c := range []struct{ in, value, path, want string }{
		{``, `1`, `a`, `{"a":1}`},
		{`{}`, `1`, `a`, `{"a":1}`},
		{`{ }`, `1`, `a`, `{"a":1 }`},
		{`{"x":0 }`, `1`, `a`, `{"x":0,"a":1 }`},
		{`{}`, `1`, `a.b.c`, `{"a":{"b":{"c":1}}}`},
		{`{"a":{}}`, `1`, `a.b`, `{"a":{"b":1}}`},
		{`{"a":null,"z":2}`, `1`, `a.b`, `{"a":{"b":1},"z":2}`},
		{`{"a":{"b":{"c":0}},"z":2}`, `1`, `a.b.c`, `{"a":{"b":{"c":1}},"z":2}`},
		{`{"a":{"b":1,"c":2}}`, ``, `a.b`, `{"a":{"c":2}}`},
		{`{"a":{"b":1 , "c":2}}`, ``, `a.c`, `{"a":{"b":1}}`},
		{`{"a":1, "b":2, "c":3}`, ``, `b`, `{"a":1, "c":3}`},
		{`{ "a" : 1 }`, ``, `a`, `{  }`},
		{`{"a":1}`, ``, `b`, `{"a":1}`},
		{`{"a":1}`, ``, `a.b`, `{"a":1}`},
		{`{"a\u002eb":1}`, `2`, `a`, `{"a\u002eb":1,"a":2}`},
		{`{"\u0061":1}`, `2`, `a`, `{"\u0061":2}`},
		{`null`, `2`, `a`, `{"a":2}`},
		{`[1]`, ``, `a`, `[1]`},
	} {
		var value []byte
		if c.value != "" {
			value = []byte(c.value)
		}
		if got := string(Set([]byte(c.in), value, strings.Split(c.path, ".")...)); got != c.want {
			t.Errorf("Set(%s, %s, %s) = %s, want %s", c.in, c.value, c.path, got, c.want)
		}
	}
}

func TestSetLeavesTheRestAlone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		data := write(rt, genObject(rt))
		path := []string{keyGen.Draw(rt, "first"), keyGen.Draw(rt, "second")}
		got := Set(data, []byte(`"new"`), path...)
		if string(Get(got, path...)) != `"new"` {
			rt.Fatalf("Set(%s, %q) = %s", data, path, got)
		}
		for key, raw := range Members(data) {
			if key != path[0] && !bytes.Equal(Get(got, key), raw) {
				rt.Fatalf("member %q went from %s to %s", key, raw, Get(got, key))
			}
		}
		for key, raw := range Members(Get(data, path[0])) {
			if key != path[1] && !bytes.Equal(Get(got, path[0], key), raw) {
				rt.Fatalf("member %q went from %s to %s", key, raw, Get(got, path[0], key))
			}
		}
	})
}

func TestQuoteAndCompact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.String().Draw(rt, "text")
		var back string
		if err := json.Unmarshal(Quote(s), &back); err != nil || back != s {
			rt.Fatalf("Quote(%q) = %s reads as %q, %v", s, Quote(s), back, err)
		}
		data := write(rt, genNode(rt, 4))
		var want bytes.Buffer
		if err := json.Compact(&want, data); err != nil {
			rt.Fatal(err)
		}
		if got := Compact([]byte("x"), data); string(got) != "x"+want.String() {
			rt.Fatalf("got %s, want x%s", got, &want)
		}
	})
	if got := string(Compact(nil, []byte("{\n\"a b\": \"x\ny\\\"\" }"))); got != `{"a b":"x\ny\""}` {
		t.Errorf("got %s", got)
	}
	if got := string(Quote("a\xffb")); got != "\"a\ufffdb\"" {
		t.Errorf("got %s", got)
	}
}
