package inflight

import (
	"context"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
)

// A principal is a client that offers nothing.
type principal string

func (p principal) Who() string { return string(p) }

func (principal) Offers() *mcp.Offer { return &mcp.Offer{} }

// A message that belongs to no call is passed to the only caller in flight, unless
// a call of another principal has been in flight at the same time.
func TestMixedCallers(t *testing.T) {
	calls := &Table{sweeping: true}
	a, again, b := &Call{Client: principal("a")}, &Call{Client: principal("a")}, &Call{Client: principal("b")}
	calls.enter(a)
	calls.enter(again)
	if calls.Mixed() {
		t.Error("door/7: calls of one principal are mixed")
	}
	calls.End(again)
	calls.enter(b)
	calls.End(b)
	if !calls.Mixed() {
		t.Error("door/7: what the server says about b would reach a")
	}
	calls.End(a)
	calls.enter(b)
	if calls.Mixed() {
		t.Error("door/7: b is alone and hears nothing")
	}
}

// An abandoned call keeps its client from being forgotten until the server answers,
// or the call has lasted as long as a call may.
func TestAbandoned(t *testing.T) {
	limits := config.DefaultLimits()
	calls := &Table{sweeping: true, server: &Server{Limits: &limits}}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	abandon := func(who principal, id uint64) *Call {
		k := &Call{Client: who, asks: true}
		k.id.Store(id)
		calls.enter(k)
		k.Failed(gone)
		return k
	}
	a, b := abandon("a", 1), &Call{Client: principal("b"), asks: true}
	calls.End(a)
	calls.enter(b)
	if calls.Culprit() != nil || !calls.Mixed() {
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
