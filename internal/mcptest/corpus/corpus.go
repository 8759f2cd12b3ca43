// Package corpus reads the messages of testdata/corpus/J, for tests.
package corpus

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Row is one message of testdata/corpus/J; see its README.
type Row struct {
	ID, Case, Note string
	In             Pieces
	Flight         []string
	Want           struct {
		Code    int64
		Kind    string
		IDEcho  string
		Answers map[string]int64
	}
}

// Name returns the name of the subtest for the row.
func (r *Row) Name() string {
	if r.Case == "" {
		return "corpus/" + r.ID
	}
	return "corpus/" + r.ID + "/" + r.Case
}

// Pieces is a message written as a string or as a list of parts.
type Pieces struct{ raw json.RawMessage }

func (p *Pieces) UnmarshalJSON(data []byte) error {
	p.raw = bytes.Clone(data)
	return nil
}

// Large reports whether the message consists of repeated parts.
func (p Pieces) Large() bool { return p.raw[0] == '[' }

// Bytes returns the whole message.
func (p Pieces) Bytes(t testing.TB) []byte {
	t.Helper()
	parts := []json.RawMessage{p.raw}
	if p.Large() {
		decode(t, p.raw, &parts)
	}
	var out []byte
	for _, raw := range parts {
		var part struct {
			Base64 []byte
			Repeat string
			Count  int
		}
		if raw[0] == '"' {
			part.Count = 1
			decode(t, raw, &part.Repeat)
		} else {
			decode(t, raw, &part)
		}
		out = append(out, part.Base64...)
		before, after, numbered := strings.Cut(part.Repeat, "{n}")
		if !numbered {
			out = append(out, bytes.Repeat([]byte(before), part.Count)...)
			continue
		}
		for n := range part.Count {
			out = append(out, before...)
			out = strconv.AppendInt(out, int64(n), 10)
			out = append(out, after...)
		}
	}
	return out
}

func decode(t testing.TB, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%.200s: %v", data, err)
	}
}

// Rows returns the rows of all files of a pattern.
func Rows[T any](t testing.TB, pattern string) (all []T) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus %s: %v", pattern, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rows []T
		decode(t, data, &rows)
		all = append(all, rows...)
	}
	return all
}

// Load returns all messages. root is the path of the repository.
func Load(t testing.TB, root string) []Row {
	t.Helper()
	all := Rows[Row](t, filepath.Join(root, "testdata/corpus/J/*.json"))
	slices.SortStableFunc(all, func(a, b Row) int { return strings.Compare(a.ID, b.ID) })
	return all
}
