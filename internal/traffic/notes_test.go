package traffic

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An entry has its notes in both languages; an unknown note stays in English.
func TestNotes(t *testing.T) {
	r := New(Options{})
	r.Add(&Call{Notes: []string{Bridged("2025-06-18", "2026-07-28"), "other", Spoken("a", "b")}}, nil, nil)
	r.Add(&Call{Notes: []string{"other"}}, nil, nil)
	filter, err := ParseFilter("")
	if err != nil {
		t.Fatal(err)
	}
	calls, _ := r.List(filter, 0, 2)
	want := []string{"从 2025-06-18 转换为 2026-07-28：属于另一代协议", "other", "客户端使用 a，服务器使用 b"}
	if diff := cmp.Diff(want, calls[1].NotesZH); diff != "" || calls[0].NotesZH != nil {
		t.Errorf("%s %q", diff, calls[0].NotesZH)
	}
}
