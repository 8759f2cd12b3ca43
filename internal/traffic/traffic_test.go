package traffic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func call(server, name string) *Call {
	return &Call{Hop: HopServer, Client: "claude-code", Server: server, Method: "tools/call", Name: name}
}

func ids(calls []Call) []uint64 {
	var out []uint64
	for _, c := range calls {
		out = append(out, c.ID)
	}
	return out
}

func TestBeginEnd(t *testing.T) {
	r := New(Options{})
	root := r.Begin(&Call{Hop: HopClient, Method: "tools/call", Name: "github__search"}, []byte(`{"q":1}`))
	c := call("github", "search")
	c.Parent = root
	child := r.Begin(c, []byte(`{"q":1}`))
	if got, _ := r.Get(child); got.Status != StatusPending {
		t.Errorf("status before the end = %q", got.Status)
	}
	r.End(child, &Outcome{Status: StatusToolError, Total: 3 * time.Millisecond}, []byte(`{"isError":true}`))
	r.End(child, &Outcome{Status: StatusOK}, nil) // a second End changes nothing
	r.End(root, &Outcome{Status: StatusToolError, Total: 4 * time.Millisecond, Notes: []string{"renamed"}}, []byte(`{}`))

	got, ok := r.Get(child)
	if !ok || got.Status != StatusToolError || string(got.ResHead) != `{"isError":true}` || got.ResSize != 16 {
		t.Errorf("Get = %+v, %v", got, ok)
	}
	if family := r.Related(child); len(family) != 2 || family[0].ID != root || family[0].Notes[0] != "renamed" {
		t.Errorf("Related = %+v", family)
	}
}

func TestTimeIsSplitByHops(t *testing.T) {
	r := New(Options{})
	root := r.Begin(&Call{Hop: HopClient, Method: "tools/call"}, nil)
	for _, ms := range []time.Duration{3, 4} {
		c := call("github", "search")
		c.Parent = root
		child := r.Begin(c, nil)
		r.End(child, &Outcome{Status: StatusOK, Total: ms * time.Millisecond, ServerTime: (ms - 1) * time.Millisecond, Transport: time.Millisecond}, nil)
	}
	r.End(root, &Outcome{Status: StatusOK, Total: 9 * time.Millisecond}, nil)
	got, _ := r.Get(root)
	if got.Gateway != 2*time.Millisecond || got.Transport != 2*time.Millisecond || got.ServerTime != 5*time.Millisecond {
		t.Errorf("gateway %v, transport %v, server %v", got.Gateway, got.Transport, got.ServerTime)
	}
}

func TestNilRecordsNothing(t *testing.T) {
	var r *Recorder
	if id := r.Begin(call("a", "b"), nil); id != 0 {
		t.Errorf("id = %d", id)
	}
	r.AddLine(Line{Text: "x"})
}

func TestRingKeepsTheLast(t *testing.T) {
	r := New(Options{Calls: 10})
	for i := range 25 {
		r.Add(call("s", fmt.Sprint(i)), nil, nil)
	}
	got, _ := r.List(nil, 0, 100)
	if diff := cmp.Diff([]uint64{25, 24, 23, 22, 21, 20, 19, 18, 17, 16}, ids(got)); diff != "" {
		t.Error(diff)
	}
	got, _ = r.List(nil, 20, 3)
	if diff := cmp.Diff([]uint64{19, 18, 17}, ids(got)); diff != "" {
		t.Error(diff)
	}
	if _, ok := r.Get(5); ok {
		t.Error("an entry that left the ring was found")
	}
}

// The recorder allocates its rings only when there is data to store.
func TestIdleRecorderIsSmall(t *testing.T) {
	r := New(Options{})
	r.Get(1)
	r.Lines("", 0, 10)
	made := func() (n int) {
		for _, block := range r.calls.blocks {
			n += len(block)
		}
		return n
	}
	if n := made(); n != 0 {
		t.Errorf("%d entries without a call", n)
	}
	for range 300 {
		r.Add(call("a", "b"), nil, nil)
	}
	if n := made(); n != 3*slotBlock {
		t.Errorf("%d entries for 300 calls", n)
	}
	for range 10_000 {
		r.Add(call("a", "b"), nil, nil)
	}
	if n := made(); n != 10_000 {
		t.Errorf("%d entries, not the 10,000 that there may be", n)
	}
}

func TestBodies(t *testing.T) {
	big := []byte(strings.Repeat("0123456789", 100_000))
	r := New(Options{BodyBytes: 4 << 20})
	id := r.Add(call("s", "head"), big, nil)
	if body, whole := r.Body(id, Request); whole || len(body) != HeadSize {
		t.Errorf("unattached: %d bytes, whole %v", len(body), whole)
	}
	detach := r.Attach()
	id = r.Add(call("s", "whole"), nil, big)
	if body, whole := r.Body(id, Response); !whole || string(body) != string(big) {
		t.Errorf("attached: %d bytes, whole %v", len(body), whole)
	}
	for range 5 {
		r.Add(call("s", "next"), nil, big)
	}
	if body, whole := r.Body(id, Response); whole || len(body) != HeadSize {
		t.Errorf("overwritten: %d bytes, whole %v", len(body), whole)
	}
	last := r.Add(call("s", "last"), nil, big)
	detach()
	detach()
	if _, whole := r.Body(last, Response); whole {
		t.Error("bodies outlived the last one attached")
	}
	if r.Attached() {
		t.Error("still attached")
	}
}

func TestSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{Calls: 8})
		s := r.Subscribe(r.Rev())
		defer s.Close()
		var got []Batch
		var wg sync.WaitGroup
		ctx, cancel := context.WithCancelCause(t.Context())
		wg.Go(func() {
			for {
				b, err := s.Next(ctx)
				if err != nil {
					return
				}
				got = append(got, b)
			}
		})
		synctest.Wait()
		id := r.Begin(call("s", "t"), nil)
		synctest.Wait()
		r.End(id, &Outcome{Status: StatusOK}, nil)
		r.AddLine(Line{Server: "s", Source: "stderr", Text: "hello"})
		synctest.Wait()
		cancel(errors.New("done"))
		wg.Wait()
		if len(got) < 2 || got[0].Calls[0].Status != StatusPending || got[1].Calls[0].Status != StatusOK {
			t.Fatalf("batches = %+v", got)
		}
		if last := got[len(got)-1]; len(last.Lines) != 1 || last.Rev != 3 {
			t.Errorf("last batch = %+v", last)
		}
	})
}

func TestSubscriptionGap(t *testing.T) {
	r := New(Options{Calls: 8})
	for range 20 {
		r.Add(call("s", "t"), nil, nil)
	}
	for _, from := range []uint64{1, 99} {
		s := r.Subscribe(from)
		if b := s.Take(); !b.Reset || b.Rev != 20 {
			t.Errorf("from %d: %+v", from, b)
		}
		s.Close()
	}
	s := r.Subscribe(17)
	defer s.Close()
	if b := s.Take(); b.Reset || len(b.Calls) != 3 {
		t.Errorf("resumed: %+v", b)
	}
}

func TestLines(t *testing.T) {
	r := New(Options{Lines: 4})
	for i := range 6 {
		r.AddLine(Line{Server: []string{"a", "b"}[i%2], Text: fmt.Sprint(i)})
	}
	var got []string
	for _, l := range r.Lines("b", 0, 10) {
		got = append(got, l.Text)
	}
	if diff := cmp.Diff([]string{"3", "5"}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(r.Lines("", 5, 10)); n != 1 {
		t.Errorf("lines after 5 = %d", n)
	}
}

func TestStats(t *testing.T) {
	now := time.Unix(600_000, 0)
	r := New(Options{Now: func() time.Time { return now }})
	for i := 1; i <= 100; i++ {
		c := call("github", "search")
		c.Total = time.Duration(i) * time.Millisecond
		if i%10 == 0 {
			c.Status, c.Code = StatusError, -32602
		}
		r.Add(c, nil, nil)
	}
	bench := call("github", "search")
	bench.Bench = true
	r.Add(bench, nil, nil)
	now = now.Add(2 * time.Minute)
	r.Add(&Call{Hop: HopClient, Method: "tools/call", Name: "github__search"}, nil, nil)

	got := r.Stats()
	if len(got) != 3 || got[0].Server != "" || got[1].Name != "" || got[2].Name != "search" {
		t.Fatalf("Stats = %+v", got)
	}
	s := got[1]
	if s.Calls != 100 || s.Errors != 10 || s.Reasons["error -32602"] != 10 {
		t.Errorf("counts = %+v", s)
	}
	for _, p := range []struct {
		got  time.Duration
		want float64
	}{{s.P50, 50}, {s.P95, 95}, {s.P99, 99}} {
		if ms := p.got.Seconds() * 1e3; ms < p.want*.8 || ms > p.want*1.3 {
			t.Errorf("percentile = %v, want about %v ms", p.got, p.want)
		}
	}
	if n := len(s.PerMinute); n != 60 || s.PerMinute[57] != 100 || s.ErrorsPerMinute[57] != 10 {
		t.Errorf("series = %v", s.PerMinute)
	}
}

func TestStatsAreBounded(t *testing.T) {
	r := New(Options{})
	for i := range maxStatKeys + 100 {
		r.Add(call("s", fmt.Sprint("tool", i)), nil, nil)
	}
	if n := len(r.Stats()); n > maxStatKeys+1 {
		t.Errorf("%d statistics", n)
	}
}

func TestConcurrentUse(t *testing.T) {
	r := New(Options{Calls: 2048, HeadBytes: 1 << 18})
	s := r.Subscribe(0)
	defer s.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				id := r.Begin(call("s", "t"), []byte("request"))
				r.End(id, &Outcome{Status: StatusOK}, []byte("response"))
				r.List(nil, 0, 10)
				s.Take()
			}
		})
	}
	wg.Wait()
	if st := r.Stats(); st[0].Calls != 2000 {
		t.Errorf("calls = %d", st[0].Calls)
	}
}

// recordCall records one call of a tool on both hops, as the gateway does.
func recordCall(r *Recorder, start time.Time, req, renamed, res []byte) {
	root := Call{Hop: HopClient, Start: start, Session: "f00d", Client: "claude-code", Schema: "default",
		Method: "tools/call", Name: "github__search_issues"}
	id := r.Begin(&root, req)
	below := Call{Hop: HopServer, Start: start, Session: "f00d", Client: "claude-code", Schema: "default",
		Server: "github", Method: "tools/call", Name: "search_issues", Parent: id}
	child := r.Begin(&below, renamed)
	r.End(child, &Outcome{Status: StatusOK, Total: time.Millisecond, ServerTime: time.Millisecond}, res)
	r.End(id, &Outcome{Status: StatusOK, Total: 2 * time.Millisecond, Server: "github"}, res)
}

func BenchmarkRecordCall(b *testing.B) {
	r := New(Options{})
	req, res := []byte(strings.Repeat("x", 200)), []byte(strings.Repeat("y", 600))
	renamed := []byte(strings.Repeat("z", 192))
	start := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		recordCall(r, start, req, renamed, res)
	}
}

func BenchmarkDisabled(b *testing.B) {
	var r *Recorder
	c := call("github", "search_issues")
	for b.Loop() {
		r.Begin(c, nil)
	}
}

// An address that lets anyone who knows it act for a user is not recorded.
func TestTicketsAreNotRecorded(t *testing.T) {
	r := New(Options{})
	defer r.Attach()()
	id := r.Begin(&Call{Method: "tools/call"}, []byte(`{}`))
	r.End(id, &Outcome{}, []byte(`{"url":"http://h`+TicketPath+`ABC234","next":1}`))
	if body, _ := r.Body(id, Response); string(body) != `{"url":"http://h`+TicketPath+`******","next":1}` {
		t.Errorf("recorded %s", body)
	}
}

// TestRepeats checks that the calls of each schema are counted apart, in one pass.
func TestRepeats(t *testing.T) {
	r := New(Options{})
	add := func(schema, client, tool string, answers bool) {
		r.Add(&Call{Kind: KindCall, Hop: HopServer, Door: DoorSession, Method: "tools/call", Schema: schema, Client: client, Server: "s", Name: tool, Answers: answers}, nil, nil)
	}
	for range repeatsIn + 5 {
		add("busy", "a", "one", false)
	}
	for _, tool := range []string{"one", "two", "two"} {
		add("quiet", "a", tool, false)
		add("quiet", "b", tool, false)
	}
	add("quiet", "a", "two", true)
	got := r.Repeats("tools/call")
	want := map[string]Repeated{"busy": {repeatsIn, repeatsIn - 1}, "quiet": {6, 2}}
	if !maps.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
