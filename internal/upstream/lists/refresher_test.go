package lists

import (
	"context"
	"testing"
	"testing/synctest"
)

// Stop cancels the running fetch, and Wait waits for it. Lists that are marked
// later are not fetched.
func TestRefresherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, over := make(chan Kind, 10), false
		r := NewRefresher(func(ctx context.Context, which Kind) {
			began <- which
			<-ctx.Done()
			over = true
		})
		r.Start()
		r.Mark(Tools)
		r.Mark(Prompts)
		if which := <-began; which != Tools|Prompts {
			t.Errorf("fetched %v", which)
		}
		r.Mark(Resources)
		r.Stop()
		r.Wait()
		if !over {
			t.Error("it is still being fetched")
		}
		r.Mark(Tools)
		r.Stop()
		r.Wait()
		synctest.Wait()
		if len(began) > 0 {
			t.Error("fetched after Stop")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := NewRefresher(func(context.Context, Kind) { t.Error("fetched") })
		r.Start()
		r.Mark(Tools)
		r.Stop() // before the delay has passed
		r.Wait()
	})
}
