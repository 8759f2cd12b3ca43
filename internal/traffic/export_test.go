package traffic

import (
	"context"
	"time"
)

// Match reports whether a call, including its heads, matches.
func (f *Filter) Match(c *Call, now time.Time) bool {
	return f == nil || f.match(c, now) && f.matchText(c, c.ReqHead, c.ResHead)
}

// Next waits for changes and returns them. An entry that changed twice appears
// once, in its current state.
func (s *Subscription) Next(ctx context.Context) (Batch, error) {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Batch{}, context.Cause(ctx)
		}
		if b := s.Take(); b.Reset || len(b.Calls)+len(b.Lines) > 0 {
			return b, nil
		}
	}
}
