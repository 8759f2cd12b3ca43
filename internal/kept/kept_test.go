package kept

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

const maxDisk = 4 << 20

func newStore(t *testing.T, change func(*Options)) (*Store, *time.Time) {
	t.Helper()
	now := time.Now()
	o := Options{Dir: filepath.Join(t.TempDir(), "results", "1"), Bounds: func() (time.Duration, int64) { return time.Hour, maxDisk }, Now: func() time.Time { return now }}
	if change != nil {
		change(&o)
	}
	s := NewStore(o)
	t.Cleanup(s.Close)
	return s, &now
}

var ann, bob = Owner{Principal: "key:ann", Schema: "default"}, Owner{Principal: "key:bob", Schema: "default"}

func TestStore(t *testing.T) {
	small, large := []byte("small"), bytes.Repeat([]byte("secret of ann\n"), 10_000)
	t.Run("code/kept whole", func(t *testing.T) {
		s, _ := newStore(t, nil)
		for _, data := range [][]byte{small, large} {
			uri := put(t, s, ann, data)
			if got, err := s.Get(t.Context(), ann, uri); err != nil || !bytes.Equal(got.Data, data) {
				t.Errorf("%d bytes came back, and %v", len(got.Data), err)
			}
			for _, other := range []Owner{bob, {Principal: "key:ann", Schema: "another"}, {Principal: "key:ann", Schema: "default", Rights: "x"}} {
				if _, err := s.Get(t.Context(), other, uri); !errors.Is(err, ErrNotFound) {
					t.Errorf("for %v it is %v", other, err)
				}
			}
		}
	})
	t.Run("code/kept sealed", func(t *testing.T) {
		s, _ := newStore(t, nil)
		put(t, s, ann, large)
		files, err := os.ReadDir(s.opt.Dir)
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		raw, err := os.ReadFile(filepath.Join(s.opt.Dir, files[0].Name()))
		if err != nil || bytes.Contains(raw, []byte("secret")) {
			t.Errorf("the file can be read: %v", err)
		}
		if info, err := files[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("its mode is %v, %v", info.Mode(), err)
		}
	})
	t.Run("code/kept expired", func(t *testing.T) {
		s, now := newStore(t, nil)
		uri := put(t, s, ann, large)
		*now = now.Add(time.Hour + time.Second)
		var late *GoneError
		if _, err := s.Get(t.Context(), ann, uri); !errors.Is(err, ErrNotFound) || !errors.As(err, &late) {
			t.Errorf("after an hour it is %v", err)
		}
		if _, err := s.Get(t.Context(), bob, uri); errors.As(err, &late) {
			t.Errorf("another one learns that there was one: %v", err)
		}
		for i := range 2 * maxGone {
			s.gone.add(&entry{id: fmt.Sprint(i)}, displaced)
		}
		if len(s.gone.order) != maxGone || len(s.gone.why) != maxGone {
			t.Errorf("%d are remembered", len(s.gone.order))
		}
	})
	t.Run("code/kept bounded", func(t *testing.T) {
		s, now := newStore(t, nil)
		first := put(t, s, bob, large)
		for range 100 {
			*now = now.Add(time.Second)
			put(t, s, ann, large)
		}
		if n := s.has("key:ann", disk); n > maxDisk/4 {
			t.Errorf("one client has %d bytes", n)
		}
		if _, err := s.Get(t.Context(), bob, first); err != nil {
			t.Errorf("another's result is gone: %v", err)
		}
	})
	t.Run("code/kept leftovers", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "results")
		gone, here := filepath.Join(dir, "999999999"), filepath.Join(dir, fmt.Sprint(os.Getpid()))
		for _, d := range []string{gone, here} {
			must.Folder(t, d)
		}
		newStore(t, func(o *Options) { o.Dir = filepath.Join(dir, "1") })
		if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("what a process left that has ended is there: %v", err)
		}
		if _, err := os.Stat(here); err != nil {
			t.Errorf("what a running process keeps is gone: %v", err)
		}
	})
	t.Run("code/kept disk refuses", func(t *testing.T) {
		file := must.Write(t, filepath.Join(t.TempDir(), "file"), "")
		s, _ := newStore(t, func(o *Options) { o.Dir = filepath.Join(file, "1") })
		if uri, err := s.Put(ann, Result{Data: large}); err == nil {
			t.Errorf("a handle %s to nothing", uri)
		}
	})
}

// TestShareOfMemory lets clients keep more small results than fit into memory.
// Each displaces only its own.
func TestShareOfMemory(t *testing.T) {
	small, most := []byte("small"), bytes.Repeat([]byte("x"), inMemory)
	for name, room := range map[string]int64{"with a disk": maxDisk, "without a disk": 0} {
		t.Run("code/kept in memory, "+name, func(t *testing.T) {
			s, now := newStore(t, func(o *Options) {
				o.Bounds = func() (time.Duration, int64) { return time.Hour, room }
			})
			put := func(owner Owner, data []byte) string {
				t.Helper()
				*now = now.Add(time.Millisecond)
				uri := put(t, s, owner, data)
				return uri
			}
			theirs := put(bob, small)
			first := put(ann, small)
			for range maxMemory / 4 / inMemory {
				put(ann, most)
			}
			var moved *GoneError
			switch got, err := s.Get(t.Context(), ann, first); {
			case room > 0 && (err != nil || !bytes.Equal(got.Data, small)):
				t.Errorf("the oldest of the client itself is not on the disk: %q, %v", got.Data, err)
			case room == 0 && !errors.As(err, &moved):
				t.Errorf("the oldest of the client itself is there, with more than its share: %v", err)
			}
			for i := range 6 { // more than there are shares
				other := Owner{Principal: fmt.Sprint("key:", i), Schema: "default"}
				for range maxMemory / inMemory {
					put(other, most)
				}
			}
			if s.size[memory] > maxMemory || s.size[disk] > room || s.has("key:0", memory) > maxMemory/4 {
				t.Errorf("it has %d bytes in memory and %d on the disk, %d of one client in memory", s.size[memory], s.size[disk], s.has("key:0", memory))
			}
			if got, err := s.Get(t.Context(), bob, theirs); err != nil || !bytes.Equal(got.Data, small) {
				t.Errorf("another's result is gone: %v", err)
			}
		})
	}
}

func TestRead(t *testing.T) {
	data := []byte("one\ntwo\nthree\nfour\n")
	doc := []byte(`{"rows":[{"id":1,"name":"a"},{"id":2,"name":"b"}]}`)
	for _, tt := range []struct {
		name  string
		data  []byte
		q     Query
		limit int64
		want  string // part of the text, or of the error
		rest  string
	}{
		{"lines", data, Query{Lines: "2-3"}, 100, "two\nthree\n", ""},
		{"one line", data, Query{Lines: "4"}, 100, "four\n", ""},
		{"lines on", data, Query{Lines: "1-"}, 8, "one\ntwo\n", "lines=3-"},
		{"lines turned round", data, Query{Lines: "9-3"}, 100, "is not a range", ""},
		{"lines beyond", data, Query{Lines: "9-"}, 100, "has 4 lines", ""},
		{"offset", data, Query{Offset: 4}, 4, "two\n", "offset=8"},
		{"offset beyond", data, Query{Offset: 99}, 4, "beyond the end", ""},
		{"grep", data, Query{Grep: "^t"}, 100, "2: two\n3: three\n", ""},
		{"grep nothing", data, Query{Grep: "x"}, 100, "no line of 4 matches", ""},
		{"grep bad", data, Query{Grep: "("}, 100, "grep: ", ""},
		{"grep too long", data, Query{Grep: strings.Repeat("x", 5000)}, 100, "at most 4096 are read", ""},
		{"grep of a long line", []byte("short\n" + strings.Repeat("a", 5_000_000)), Query{Grep: "[ab]{1000}c"}, 100, "line 2 has 5000000 bytes, too many for this pattern", ""},
		{"grep of many lines", bytes.Repeat([]byte(strings.Repeat("a", 9_999)+"\n"), 500), Query{Grep: "[ab]{1000}c"}, 100, "grep: it took longer than 1s", ""},
		{"grep of a long line, simple", []byte(strings.Repeat("a", 1_000_000) + "b"), Query{Grep: "ab"}, 100, "1: aaa", ""},
		{"jq long error", doc, Query{JQ: `error("x" * 100000)`}, 100, "jq: error: xxx", ""},
		{"jq halt", []byte(`["` + strings.Repeat("x", 100_000) + `"]`), Query{JQ: "halt_error"}, 100, "jq: halt error: [", ""},
		{"jq", doc, Query{JQ: ".rows[].name"}, 100, "a\nb\n", ""},
		{"jq does not parse", doc, Query{JQ: ".rows["}, 100, "jq: ", ""},
		{"jq of text", data, Query{JQ: "."}, 100, "not JSON", ""},
		{"jq without end", doc, Query{JQ: "[range(1e9)]"}, 100, "range is not allowed", ""},
		{"jq def", doc, Query{JQ: "def f: f; f"}, 100, "def is not allowed", ""},
		{"jq too long", doc, Query{JQ: strings.Repeat("(", 5_000_000)}, 100, "at most 4096 are read", ""},
		{"two ways", doc, Query{JQ: ".", Grep: "x"}, 100, "give one of", ""},
		{"character", []byte("äöü"), Query{}, 3, "ä", "offset=2"},
	} {
		t.Run("code/read "+tt.name, func(t *testing.T) {
			part, err := Read(t.Context(), tt.data, tt.q, tt.limit, Filtered)
			text := part.Text
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, tt.want) || part.Rest != tt.rest || len(text) > 1000 {
				t.Errorf("it says %.1000q, go on with %q", text, part.Rest)
			}
		})
	}
	t.Run("code/read all by lines", func(t *testing.T) {
		var whole []byte
		for i := range 5000 {
			whole = append(whole, strings.Repeat("x", i%97)+"\n"...)
		}
		var got []byte
		q := Query{Lines: "1-"}
		for {
			part, err := Read(t.Context(), whole, q, 1000, nil)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, part.Text...)
			var ok bool
			if q.Lines, ok = strings.CutPrefix(part.Rest, "lines="); !ok {
				break
			}
		}
		if !bytes.Equal(got, whole) {
			t.Errorf("%d of %d bytes came back", len(got), len(whole))
		}
	})
}

func TestShape(t *testing.T) {
	for text, want := range map[string]string{
		`{"rows":[{"id":1,"name":"a","tags":["x"]},{"id":2}],"n":3}`: "{n, rows: 2 × {id, name, tags: 1 × text}}",
		"a\nb": "2 lines", "a\nb\n": "2 lines", "[]": "[]", "[1,2]": "2 × number", "{": "1 lines",
	} {
		if got := Shape([]byte(text)); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
	begin, end, left := HeadTail([]byte(strings.Repeat("line\n", 100)), 22, 11)
	if string(begin) != strings.Repeat("line\n", 4) || string(end) != "line\nline\n" || left != 470 {
		t.Errorf("cut to %q and %q, %d left", begin, end, left)
	}
}
