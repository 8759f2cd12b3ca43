package inflight

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// enter calls a tool and returns how long it waited.
func enter(t *testing.T, trials *Trials, client, tool string) (end func(), waited time.Duration) {
	t.Helper()
	began := time.Now()
	end, err := trials.Enter(t.Context(), client, tool)
	if err != nil {
		t.Fatal(err)
	}
	if end == nil {
		end = func() {}
	}
	return end, time.Since(began)
}

func TestTrials(t *testing.T) {
	t.Run("true/3 a long call holds others back once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var trials Trials
			long, _ := enter(t, &trials, "a", "long_task")
			var total time.Duration
			for range 3 {
				end, waited := enter(t, &trials, "b", "echo")
				end()
				total += waited
			}
			for _, tool := range []string{"add", "list"} {
				end, waited := enter(t, &trials, "b", tool)
				end()
				total += waited
			}
			if total != trialTime {
				t.Errorf("waited %v", total)
			}
			long()
		})
	})
	t.Run("true/3 a turn that others wait for lasts a second", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var trials Trials
			enter(t, &trials, "a", "one")
			<-time.After(trialTime / 2)
			enter(t, &trials, "a", "two")
			if _, waited := enter(t, &trials, "b", "three"); waited != trialTime/2 {
				t.Errorf("waited %v", waited)
			}
		})
	})
	t.Run("true/3 nobody waits after the first question", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var trials Trials
			enter(t, &trials, "a", "ask")
			entered := make(chan time.Duration)
			for _, client := range []string{"b", "c"} {
				go func() {
					_, waited := enter(t, &trials, client, "ask")
					entered <- waited
				}()
			}
			synctest.Wait()
			trials.Asked()
			for range 2 {
				if waited := <-entered; waited != 0 {
					t.Errorf("waited %v", waited)
				}
			}
			if _, waited := enter(t, &trials, "d", "ask"); waited != 0 {
				t.Errorf("the client that comes later waited %v", waited)
			}
		})
	})
	t.Run("true/3 a call that was not sent is no trial", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var trials Trials
			end, _ := enter(t, &trials, "a", "one")
			ctx, cancel := context.WithTimeout(t.Context(), trialTime/2)
			defer cancel()
			if _, err := trials.Enter(ctx, "b", "ask"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			end()
			enter(t, &trials, "c", "ask")
			if _, waited := enter(t, &trials, "d", "ask"); waited != trialTime {
				t.Errorf("waited %v", waited)
			}
		})
	})
}
