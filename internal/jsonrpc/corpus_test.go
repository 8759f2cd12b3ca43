package jsonrpc

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A corpusRow is one message of testdata/corpus/J; see its README.
type corpusRow struct {
	ID, Case, Note string
	In             pieces
	Flight         []string
	Want           struct {
		Code    int64
		Kind    string
		IDEcho  string
		Answers map[string]int64
	}
}

func (r *corpusRow) name() string {
	if r.Case == "" {
		return "corpus/" + r.ID
	}
	return "corpus/" + r.ID + "/" + r.Case
}

// pieces is a message written as a string or as a list of parts.
type pieces struct{ raw json.RawMessage }

func (p *pieces) UnmarshalJSON(data []byte) error {
	p.raw = bytes.Clone(data)
	return nil
}

// large reports whether the message consists of repeated parts.
func (p pieces) large() bool { return p.raw[0] == '[' }

// bytes returns the whole message.
func (p pieces) bytes(t testing.TB) []byte {
	t.Helper()
	parts := []json.RawMessage{p.raw}
	if p.large() {
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

func loadCorpus(t testing.TB) []corpusRow {
	t.Helper()
	files, err := filepath.Glob("../../testdata/corpus/J/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var all []corpusRow
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rows []corpusRow
		decode(t, data, &rows)
		all = append(all, rows...)
	}
	slices.SortStableFunc(all, func(a, b corpusRow) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func TestScanCorpus(t *testing.T) {
	for _, row := range loadCorpus(t) {
		if row.Flight != nil {
			continue
		}
		t.Run(row.name(), func(t *testing.T) {
			data := row.In.bytes(t)
			// Enough for a busy machine, too little for quadratic time.
			start := time.Now()
			msg, err := Scan(data, nil)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%d bytes took %v", len(data), took)
			}
			var code int64
			if err != nil {
				code = err.Code
				if len(err.Message) > 256 {
					t.Errorf("message of %d bytes", len(err.Message))
				}
			}
			if code != row.Want.Code {
				t.Errorf("code is %d, want %d (%v)", code, row.Want.Code, err)
			}
			if msg.Kind.String() != row.Want.Kind {
				t.Errorf("kind is %s, want %s", msg.Kind, row.Want.Kind)
			}
			if string(msg.ID) != row.Want.IDEcho {
				t.Errorf("id is %.80q, want %.80q", msg.ID, row.Want.IDEcho)
			}
		})
	}
}
