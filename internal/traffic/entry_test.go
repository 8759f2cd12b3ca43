package traffic

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// full returns a call with all fields of a summary.
func full(start time.Time) Call {
	return Call{
		Kind: KindNotification, Hop: HopServer, FromServer: true, Start: start, Session: "f00d", Client: "cursor",
		Principal: "ann", Schema: "work", Server: "github", Method: "tools/call", Name: "search", Status: StatusError,
		Code: -1 << 40, Reason: "upstream_closed", Total: 10, Gateway: 1, Transport: 2, ServerTime: 7,
		Parent: 99, Notes: []string{"one", "two"}, Bench: true, Answers: true,
	}
}

func TestSummaryIsWhatWasRecorded(t *testing.T) {
	r := New(Options{})
	want := full(time.Unix(1_000_000, 7))
	want.ID = r.Add(&want, []byte(`{"q":1}`), []byte(`[]`))
	want.ReqSize, want.ResSize = 7, 2
	got, _ := r.List(nil, 0, 1)
	if diff := cmp.Diff([]Call{want}, got); diff != "" {
		t.Error(diff)
	}
	want.ReqHead, want.ResHead = []byte(`{"q":1}`), []byte(`[]`)
	if got, _ := r.Get(want.ID); cmp.Diff(want, got) != "" {
		t.Error(cmp.Diff(want, got))
	}
}

// The recorder copies the name, so the caller may reuse its bytes.
func TestNameIsCopied(t *testing.T) {
	r := New(Options{})
	params := []byte("search")
	c := call("github", unsafe.String(&params[0], len(params)))
	r.Add(c, nil, nil)
	copy(params, "xxxxxx")
	if got, _ := r.List(nil, 0, 1); got[0].Name != "search" {
		t.Errorf("name = %q", got[0].Name)
	}
}

func TestServerIsKnownAtTheEnd(t *testing.T) {
	r := New(Options{})
	root := r.Begin(&Call{Hop: HopClient, Server: "asked", Method: "tools/call", Name: "x"}, nil)
	server := func() string {
		c, _ := r.Get(root)
		return c.Server
	}
	for _, name := range []string{"a", "b"} {
		c := call(name, "x")
		c.Parent = root
		r.End(r.Begin(c, nil), &Outcome{Status: StatusOK}, nil)
	}
	if got := server(); got != "asked" {
		t.Errorf("pending: %q", got)
	}
	r.End(root, &Outcome{Status: StatusOK, Server: "a"}, nil)
	if got := server(); got != "a" {
		t.Errorf("ended: %q", got)
	}
	alone := r.Begin(&Call{Hop: HopClient, Server: "asked", Method: "ping"}, nil)
	r.End(alone, &Outcome{Status: StatusOK}, nil)
	if c, _ := r.Get(alone); c.Server != "asked" {
		t.Errorf("without a call below: %q", c.Server)
	}
}

// A pending call does not show the times of the calls that it caused.
func TestPendingHasNoTimes(t *testing.T) {
	r := New(Options{})
	root := r.Begin(&Call{Hop: HopClient, Method: "tools/call"}, nil)
	c := call("a", "b")
	c.Parent = root
	r.End(r.Begin(c, nil), &Outcome{Status: StatusOK, Total: time.Second, ServerTime: time.Second}, []byte("{}"))
	got, _ := r.Get(root)
	if got.Status != StatusPending || got.Gateway != 0 || got.ServerTime != 0 || got.ResSize != 0 || got.ResHead != nil {
		t.Errorf("Get = %+v", got)
	}
}

// Bodies that are the same on both hops are stored once.
func TestSameBodiesAreKeptOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		req, below, answer, res string
		want                    int64
	}{
		"both the same":     {"question", "question", "answer", "answer", 14},
		"another name":      {"question", "Question", "answer", "answer", 22},
		"another answer":    {"question", "question", "answer", "Answer", 20},
		"a longer answer":   {"question", "question", "answer", "answers", 21},
		"a shorter answer":  {"question", "question", "answer", "answe", 14},
		"nothing but heads": {"question", "question", strings.Repeat("x", 9000), strings.Repeat("x", 9001), 8 + HeadSize},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{})
			root := r.Begin(&Call{Hop: HopClient, Method: "tools/call"}, []byte(tt.req))
			c := call("a", "b")
			c.Parent = root
			child := r.Begin(c, []byte(tt.below))
			r.End(child, &Outcome{Status: StatusOK}, []byte(tt.answer))
			r.End(root, &Outcome{Status: StatusOK}, []byte(tt.res))
			if r.heads.end != tt.want {
				t.Errorf("%d bytes are kept, want %d", r.heads.end, tt.want)
			}
			for id, want := range map[uint64][2]string{root: {tt.req, tt.res}, child: {tt.below, tt.answer}} {
				req, _ := r.Body(id, Request)
				res, _ := r.Body(id, Response)
				if string(req) != want[0] || string(res) != want[1][:min(len(want[1]), HeadSize)] {
					t.Errorf("entry %d has %q and %q", id, req, res)
				}
			}
		})
	}
}

// A value is dropped from its table with its last entry.
func TestTablesAreBounded(t *testing.T) {
	const calls = 16
	r := New(Options{Calls: calls})
	for i := range 20 * calls {
		c := full(time.Now())
		c.Session, c.Name, c.Reason = fmt.Sprint("session", i), fmt.Sprint("name", i), fmt.Sprint("reason", i)
		c.Notes, c.Status = []string{fmt.Sprint("note", i)}, ""
		c.Parent = r.Begin(&Call{Hop: HopClient, Name: c.Name}, nil)
		r.End(r.Begin(&c, nil), &Outcome{Status: StatusError, Reason: c.Reason, Server: "other", Notes: []string{"more"}}, nil)
		r.End(c.Parent, &Outcome{Status: StatusOK, Server: c.Name}, nil)
	}
	for name, n := range map[string]int{
		"callers": len(r.who.rows), "calls": len(r.what.rows), "reasons": len(r.reasons.rows), "notes": len(r.notes.rows),
		"names of callers": len(r.who.numbers), "names of calls": len(r.what.numbers),
	} {
		if n > 3*calls {
			t.Errorf("%d %s for %d entries", n, name, calls)
		}
	}
	newest, _ := r.List(nil, 0, 1)
	if diff := cmp.Diff([]string{"note319", "more"}, newest[0].Notes); diff != "" || newest[0].Session != "session319" {
		t.Errorf("newest = %+v", newest[0])
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	r := New(Options{Calls: 256, HeadBytes: chunkSize})
	start := time.Now()
	req, renamed, res := []byte(`{"name":"a__b"}`), []byte(`{"name":"b"}`), make([]byte, 2*HeadSize)
	record := func() { recordCall(r, start, req, renamed, res) }
	for range 512 {
		record()
	}
	if n := testing.AllocsPerRun(1000, record); n > 0 {
		t.Errorf("recording a call makes %v allocations", n)
	}
}

// An entry fits into two cache lines and has no pointers for the garbage collector
// to scan.
func TestEntryIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(entry{}); n > 128 {
		t.Errorf("an entry has %d bytes", n)
	}
}
