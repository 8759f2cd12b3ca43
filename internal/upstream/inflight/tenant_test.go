package inflight

import (
	"testing"

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
