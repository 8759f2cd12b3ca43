package inflight

import (
	"context"
	"errors"
	"testing"
)

// TestOpenQuestions holds questions to the end of their call, also of a server
// that never takes its question back.
func TestOpenQuestions(t *testing.T) {
	t.Run("console/4 the end of the call ends what waits", func(t *testing.T) {
		var o openQuestions
		first, stop := o.during(t.Context())
		defer stop()
		second, forget := o.during(t.Context())
		forget()
		o.end()
		<-first.Done()
		if err := context.Cause(first); !errors.Is(err, errCallOver) {
			t.Error(err)
		}
		if err := context.Cause(second); errors.Is(err, errCallOver) {
			t.Error("an answered question was ended")
		}
	})
	t.Run("console/4 a question that comes late does not begin", func(t *testing.T) {
		var o openQuestions
		o.end()
		ctx, stop := o.during(t.Context())
		defer stop()
		if err := context.Cause(ctx); !errors.Is(err, errCallOver) {
			t.Error(err)
		}
	})
}
