package inflight

import (
	"context"
	"errors"
	"testing"
)

// TestOpenQuestions checks that a question ends with its call, even if the server
// never cancels the question.
func TestOpenQuestions(t *testing.T) {
	over := func(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errCallOver) }
	t.Run("console/4 the end of the call ends what waits", func(t *testing.T) {
		var k Call
		first, stop := wait(t.Context(), &k)
		defer stop()
		second, forget := wait(t.Context(), &k)
		forget()
		k.open.end()
		<-first.Done()
		if !over(first) {
			t.Error(context.Cause(first))
		}
		if over(second) {
			t.Error("an answered question was ended")
		}
	})
	t.Run("console/4 a question that comes late does not begin", func(t *testing.T) {
		var k Call
		k.open.end()
		ctx, stop := wait(t.Context(), &k)
		defer stop()
		if !over(ctx) {
			t.Error(context.Cause(ctx))
		}
	})
	t.Run("true/3 a question about one of several calls ends with the last", func(t *testing.T) {
		var ended, newest, oldest Call
		ended.open.end()
		ctx, stop := wait(t.Context(), &newest, &oldest, &ended)
		defer stop()
		newest.open.end()
		newest.open.end()
		if ctx.Err() != nil {
			t.Error("it ended with the first")
		}
		oldest.open.end()
		if !over(ctx) {
			t.Error(context.Cause(ctx))
		}
	})
}
