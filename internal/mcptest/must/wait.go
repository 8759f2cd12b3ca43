package must

import (
	"testing"
	"time"
)

// patience is how long a busy machine may take for what a test waits for.
const patience = time.Minute

// Await waits until a condition holds that nothing announces.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Receive waits for a value of a channel, or for its close.
func Receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case v := <-ch:
		return v
	case <-late.C:
		t.Fatalf("waited in vain: %s", what)
		panic("unreachable")
	}
}
