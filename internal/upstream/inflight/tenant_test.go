package inflight

import (
	"context"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
)

// A client is one that offers nothing.
type client string

func (client) Offers() *mcp.Offer { return &mcp.Offer{} }

// A message that names no call is passed to the only caller in flight, unless a call
// of another principal was ever made on the connection.
func TestMixedCallers(t *testing.T) {
	calls := &Table{sweeping: true}
	call := func(who, remote string) *Call {
		k := &Call{Client: client(remote), Who: who, Remote: remote}
		calls.enter(k)
		return k
	}
	calls.End(call("a", ""))
	for range 2 {
		defer calls.End(call("a", ""))
	}
	calls.End(call("a", "a\x00session"))
	if calls.Mixed() {
		t.Error("door/7: calls of one principal are mixed")
	}
	calls = &Table{sweeping: true}
	calls.End(call("a", ""))
	calls.End(call("b", ""))
	for range 2 {
		k := call("b", "")
		if !calls.Mixed() {
			t.Error("door/7: what the server says late about the call of a would reach b")
		}
		calls.End(k)
	}
}

// A message that names a task is about the call that waits for its result.
func TestAwaiting(t *testing.T) {
	calls := &Table{sweeping: true}
	k := &Call{awaits: "t"}
	calls.enter(k)
	calls.enter(&Call{})
	for params, want := range map[string]*Call{
		`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}`: k,
		`{"taskId":"t","status":"working"}`:                                 k,
		`{"taskId":"other"}`:                                                nil,
		`{"taskId":""}`:                                                     nil,
		`{}`:                                                                nil,
	} {
		if calls.Awaiting([]byte(params)) != want {
			t.Errorf("%s is not about the right call", params)
		}
	}
}

// An abandoned call keeps its client from being forgotten until the server answers,
// or the call has lasted as long as a call may.
func TestAbandoned(t *testing.T) {
	limits := config.DefaultLimits()
	calls := &Table{sweeping: true, server: &Server{Limits: &limits}}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	abandon := func(who client, id uint64) *Call {
		k := &Call{Client: who, asks: true}
		k.id.Store(id)
		calls.enter(k)
		k.Failed(gone)
		return k
	}
	a, b := abandon("a", 1), &Call{Client: client("b"), asks: true}
	calls.End(a)
	calls.enter(b)
	if calls.Culprit() != nil {
		t.Error("true/3: what the server says about the call of a would reach b")
	}
	calls.End(abandon("b", 2))
	calls.AnsweredLate(1)
	if calls.Culprit() != b {
		t.Error("true/3: b is not asked after the call of a was answered, or because of its own")
	}
	late := abandon("a", 3)
	calls.AnsweredLate(3)
	calls.End(late)
	if calls.Culprit() != b {
		t.Error("true/3: b is not asked after the call of a was answered before its end")
	}
	limits.CallTotal = time.Nanosecond
	calls.End(abandon("a", 4))
	for began := Ticks(); Ticks() <= began+1; {
	}
	if calls.Culprit() != b {
		t.Error("true/3: an abandoned call is never forgotten")
	}
	limits.CallTotal = time.Hour
	for id := range uint64(maxAbandoned + 1) {
		calls.End(abandon("a", 10+id))
	}
	for id := range uint64(maxAbandoned) {
		calls.AnsweredLate(10 + id)
	}
	if calls.Culprit() != nil {
		t.Error("true/3: b is asked because of a call that was not remembered")
	}
}
