package visit

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAbandoned checks that the channel is closed when there is no visitor any
// more, not earlier, and not while a visitor is expected.
func TestAbandoned(t *testing.T) {
	over := func(gone <-chan struct{}) bool {
		synctest.Wait()
		select {
		case <-gone:
			return true
		default:
			return false
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var v Book
		gone := v.Abandoned(10 * time.Second)
		pass := func(d time.Duration) { <-time.NewTimer(d).C }
		pass(50 * time.Second)
		if !v.Expect() {
			t.Error("it was too late")
		}
		pass(50 * time.Second)
		first, second := v.Enter(), v.Enter()
		pass(time.Hour)
		first()
		pass(time.Hour)
		if over(gone) {
			t.Error("over while one is here")
		}
		second()
		pass(9 * time.Second)
		if over(gone) {
			t.Error("over before ten seconds have passed")
		}
		pass(time.Second)
		if !over(gone) || v.Expect() {
			t.Error("not over")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var v Book
		gone := v.Abandoned(0)
		<-time.NewTimer(time.Hour).C
		if over(gone) || !v.Expect() {
			t.Error("over, though nobody wants to know")
		}
	})
}
