package kept

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

// TestTurns checks that a principal with many searches delays another by one
// search only, that a search that gives up leaves the line, and that nothing is
// left of those that have ended.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1, maxInTurn)
		first, err := turns.Enter(t.Context(), "x", nil)
		if err != nil {
			t.Fatal(err)
		}
		ended, giveUp := context.WithCancel(t.Context())
		var order []string // written by the search whose turn it is
		search := func(ctx context.Context, who string) {
			go func() {
				leave, err := turns.Enter(ctx, who, nil)
				if err != nil {
					return
				}
				order = append(order, who)
				leave()
			}()
			synctest.Wait()
		}
		for range 3 {
			search(t.Context(), "a")
		}
		search(ended, "c")
		search(t.Context(), "b")
		giveUp()
		synctest.Wait()
		first()
		synctest.Wait()
		if want := []string{"a", "b", "a", "a"}; !slices.Equal(order, want) {
			t.Errorf("the order is %v, want %v", order, want)
		}
		if len(turns.by) > 0 {
			t.Errorf("%d principals are left", len(turns.by))
		}
	})
}
