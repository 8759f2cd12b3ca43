package weight

import (
	"testing"
	"testing/synctest"
	"time"
)

// pass lets the fake time of a bubble pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestAnswer(t *testing.T) {
	const size = 100 << 10
	want := func(t *testing.T, b *Book, n int64) {
		t.Helper()
		if got := b.Of("a"); got != n {
			t.Errorf("%d bytes count, want %d", got, n)
		}
	}
	t.Run("read at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var b Book
			a := b.Answer("a", size)
			want(t, &b, size/2)
			a.Done()
			pass(time.Minute)
			want(t, &b, 0)
		})
	})
	t.Run("read slowly", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var b Book
			a := b.Answer("a", size)
			for range 20 {
				pass(stall - time.Millisecond)
				a.Moved()
			}
			want(t, &b, size/2)
			a.Done()
			want(t, &b, 0)
		})
	})
	t.Run("not read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var b Book
			a := b.Answer("a", size)
			pass(stall)
			want(t, &b, size)
			a.Moved()
			want(t, &b, size)
			a.Done()
			pass(time.Minute)
			want(t, &b, 0)
		})
	})
	t.Run("small", func(t *testing.T) {
		var b Book
		a := b.Answer("a", Large)
		want(t, &b, Large)
		a.Moved()
		a.Done()
		want(t, &b, 0)
	})
	t.Run("none", func(*testing.T) {
		var none *Answer
		none.Moved()
		none.Done()
	})
}

// TestOver checks that it takes unread answers to be over the share, and that only
// their principal is.
func TestOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 100 << 10
		var b Book
		if !b.Take("a", most, most) || !b.Take("b", most, most) {
			t.Fatal("there is room")
		}
		if b.Over("a", most) {
			t.Error("requests alone are bounded where they arrive")
		}
		a := b.Answer("a", 20<<10)
		if !b.Over("a", most) || b.Over("b", most) || b.Over("c", most) {
			t.Errorf("over: a %t, b %t, c %t", b.Over("a", most), b.Over("b", most), b.Over("c", most))
		}
		if b.Take("a", 1, most) {
			t.Error("answers leave the room of requests as it was")
		}
		a.Done()
		if b.Over("a", most) {
			t.Error("over when the answer has been read")
		}
		b.Give("a", most)
		if b.Of("a") != 0 || b.Of("b") != most {
			t.Errorf("a %d, b %d", b.Of("a"), b.Of("b"))
		}
	})
}
