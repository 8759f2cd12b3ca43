package tasks

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"testing"
	"weak"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
)

type requestKey struct{}

// link returns a link of a principal whose scripts are not counted.
func link(principal, version string) Link {
	return Link{Schema: "default", Principal: principal, Version: version,
		Rename: func(m []byte) []byte { return m }, Enter: func() (func(), error) { return func() {}, nil }}
}

// began starts a job of a principal that ends when end is closed.
func began(t *testing.T, o *Book, principal string, end <-chan struct{}) Key {
	t.Helper()
	resp, err := o.Run(t.Context(), link(principal, mcp.LatestLegacy), func(ctx context.Context, _ jsonrpc.Handler) (*jsonrpc.Response, error) {
		select {
		case <-end:
			return &jsonrpc.Response{Result: []byte(`{"content":[]}`)}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := jsonrpc.GetString(resp.Result, "task", "taskId")
	return Key{"default", "", id}
}

// keeps reports whether the result of a task is kept.
func keeps(o *Book, k Key) bool {
	t, _ := o.of(k)
	return t.bytes > 0
}

// TestEndedJobHoldsNoRequest checks that nothing of a request is kept after its
// task has ended, however it ended.
func TestEndedJobHoldsNoRequest(t *testing.T) {
	o := NewBook()
	t.Cleanup(o.Close)
	for _, version := range []string{mcp.LatestLegacy, mcp.LatestModern} {
		for _, fails := range []bool{false, true} {
			request := new([1 << 20]byte)
			held := weak.Make(request)
			end := make(chan struct{})
			ctx := context.WithValue(t.Context(), requestKey{}, request)
			resp, err := o.Run(ctx, link("ann", version), func(ctx context.Context, _ jsonrpc.Handler) (*jsonrpc.Response, error) {
				<-end
				if ctx.Value(requestKey{}) == nil {
					return nil, errors.New("the values of the request are gone")
				}
				if fails {
					return nil, errors.New("it failed")
				}
				return &jsonrpc.Response{Result: []byte(`{"content":[]}`)}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			id, ok := jsonrpc.GetString(resp.Result, "taskId")
			if !ok {
				id, _ = jsonrpc.GetString(resp.Result, "task", "taskId")
			}
			ctx, request = nil, nil
			close(end)
			k := Key{"default", "", id}
			must.Await(t, "the result is not kept", func() bool { return keeps(o, k) })
			must.Await(t, "the request is kept", func() bool { runtime.GC(); return held.Value() == nil })
			if kept, _ := o.of(k); kept.job == nil || kept.bytes < overhead {
				t.Errorf("%s, fails=%t: the task is %+v", version, fails, kept)
			}
		}
	}
}

// TestJobsOfOnePrincipal starts as many tasks as one principal may have.
func TestJobsOfOnePrincipal(t *testing.T) {
	o := NewBook()
	t.Cleanup(o.Close)
	first, rest := make(chan struct{}), make(chan struct{})
	theirs := began(t, o, "bob", rest)
	oldest := began(t, o, "ann", first)
	for range maxJobs - 1 {
		began(t, o, "ann", rest)
	}
	run := func(context.Context, jsonrpc.Handler) (*jsonrpc.Response, error) { panic("it runs") }
	if resp, err := o.Run(t.Context(), link("ann", mcp.LatestLegacy), run); err == nil {
		t.Fatalf("one more is let: %s", resp.Result)
	}
	close(first)
	must.Await(t, "the result is not kept", func() bool { return keeps(o, oldest) })
	began(t, o, "ann", rest)
	if keeps(o, oldest) || o.OfOurs(oldest) {
		t.Error("the oldest result is still kept")
	}
	if !o.OfOurs(theirs) {
		t.Error("the task of another is gone")
	}
	full := link("bob", mcp.LatestLegacy)
	full.Enter = func() (func(), error) { return nil, tooMany() }
	if resp, err := o.Run(t.Context(), full, run); err == nil {
		t.Errorf("too many scripts run, and it is a task: %s", resp.Result)
	}
}

// TestTasksOfOthersStay fills the book with the tasks of one principal.
func TestTasksOfOthersStay(t *testing.T) {
	o := NewBook()
	t.Cleanup(o.Close)
	o.most = 100
	end := make(chan struct{})
	runs, mine := began(t, o, "bob", end), began(t, o, "ann", end)
	known := Key{"default", "demo", "of bob"}
	o.note(known, "bob", func(*task) {})
	for i := range 1000 {
		o.note(Key{"default", "demo", strconv.Itoa(i)}, "ann", func(*task) {})
	}
	for _, k := range []Key{runs, mine, known, {"default", "demo", "999"}} {
		if _, there := o.of(k); !there {
			t.Errorf("%v is gone", k)
		}
	}
	if n := len(o.by); n != o.most {
		t.Errorf("there are %d tasks", n)
	}
	// A principal without tasks takes the place of a task of the principal with the most.
	o.note(Key{"default", "demo", "of cy"}, "cy", func(*task) {})
	if got := len(o.owned["ann"]); got != o.most-3 {
		t.Errorf("ann has %d tasks", got)
	}
	close(end)
}

// TestResultsOfOthersStay has one principal keep more than all may.
func TestResultsOfOthersStay(t *testing.T) {
	o := NewBook()
	t.Cleanup(o.Close)
	keep := func(id, principal string, size int) Key {
		k := Key{"default", "demo", id}
		o.note(k, principal, func(t *task) { t.done = &jsonrpc.Response{} })
		o.keep(k, size)
		return k
	}
	theirs := keep("of bob", "bob", 1<<20)
	var last Key
	for i := range 100 {
		last = keep(strconv.Itoa(i), "ann", 2<<20)
	}
	if !keeps(o, theirs) || !keeps(o, last) || o.bytes > maxKeptResults {
		t.Errorf("bob's is kept: %t, the last one: %t, %d bytes", keeps(o, theirs), keeps(o, last), o.bytes)
	}
}
