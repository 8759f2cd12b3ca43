package jsonrpc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A corpusRow is one message of testdata/corpus/J; its README explains it.
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
type pieces []byte

func (p *pieces) UnmarshalJSON(data []byte) error {
	*p = pieces{}
	var text string
	if json.Unmarshal(data, &text) == nil {
		*p = pieces(text)
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, raw := range list {
		if json.Unmarshal(raw, &text) == nil {
			*p = append(*p, text...)
			continue
		}
		var part struct {
			Base64 []byte
			Repeat string
			Count  int
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return err
		}
		*p = append(*p, part.Base64...)
		before, after, numbered := strings.Cut(part.Repeat, "{n}")
		for n := range part.Count {
			*p = append(*p, before...)
			if numbered {
				*p = strconv.AppendInt(*p, int64(n), 10)
				*p = append(*p, after...)
			}
		}
	}
	return nil
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
		if err := json.Unmarshal(data, &rows); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
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
			msg, err := Scan(row.In, nil)
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
