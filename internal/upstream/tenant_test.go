package upstream

import "testing"

// A message that belongs to no call reaches the only caller in flight, unless a
// call of another principal has been in flight beside it.
func TestMixedCallers(t *testing.T) {
	l := &link{sweeping: true}
	call := func(principal string) *call { return &call{link: l, caller: &Caller{Principal: principal}} }
	a, again, b := call("a"), call("a"), call("b")
	l.enter(a)
	l.enter(again)
	if l.isMixed() {
		t.Error("door/7: calls of one principal are mixed")
	}
	l.end(again)
	l.enter(b)
	l.end(b)
	if !l.isMixed() {
		t.Error("door/7: what the server says about b would reach a")
	}
	l.end(a)
	l.enter(b)
	if l.isMixed() {
		t.Error("door/7: b is alone and hears nothing")
	}
}
