package late_test

import (
	"context"
	"errors"
	"testing"

	"mcp-all-in-one/internal/late"
)

var errWhy = errors.New("why")

type key struct{}

// start returns a Context and what ends its parent.
func start(t *testing.T) (*late.Context, context.CancelCauseFunc) {
	t.Helper()
	parent, cancel := context.WithCancelCause(context.Background())
	t.Cleanup(func() { cancel(nil) })
	c := new(late.Context)
	c.Init(parent)
	return c, cancel
}

func TestEndIsSeen(t *testing.T) {
	for _, asked := range []string{"before", "after"} {
		t.Run("waited for "+asked, func(t *testing.T) {
			c, _ := start(t)
			if asked == "before" {
				select {
				case <-c.Done():
					t.Fatal("ended early")
				default:
				}
			}
			if c.Err() != nil {
				t.Fatal("ended early")
			}
			c.End(errWhy)
			<-c.Done()
			if c.Err() != context.Canceled || context.Cause(c) != errWhy {
				t.Errorf("Err %v, Cause %v", c.Err(), context.Cause(c))
			}
		})
	}
}

func TestParentsEndIsSeen(t *testing.T) {
	c, end := start(t)
	end(errWhy)
	<-c.Done()
	if c.Err() == nil || context.Cause(c) != errWhy {
		t.Errorf("Err %v, Cause %v", c.Err(), context.Cause(c))
	}
	if c.Await(&calls{}, 1) {
		t.Error("a call can wait for a context whose parent has ended")
	}
}

func TestChildrenEnd(t *testing.T) {
	c, _ := start(t)
	child, cancel := context.WithCancel(c)
	defer cancel()
	c.End(errWhy)
	<-child.Done()
	if context.Cause(child) != errWhy {
		t.Errorf("Cause %v", context.Cause(child))
	}
}

func TestValues(t *testing.T) {
	c, _ := start(t)
	first := late.WithValue(c, key{}, 1)
	second := late.WithValue(first, key{}, 2)
	if first != context.Context(c) || first.Value(key{}) != 1 || second.Value(key{}) != 2 {
		t.Errorf("%v, %v", first.Value(key{}), second.Value(key{}))
	}
	if first.Value("another") != nil {
		t.Error("a value that nobody set")
	}
}

// calls are calls that were ended.
type calls struct {
	ended []uint64
	cause error
}

func (c *calls) EndCall(id uint64, cause error) {
	c.ended, c.cause = append(c.ended, id), cause
}

func TestEndEndsTheCall(t *testing.T) {
	c, _ := start(t)
	waits := &calls{}
	if !c.Await(waits, 7) {
		t.Fatal("cannot wait")
	}
	if c.Await(&calls{}, 8) {
		t.Error("two calls wait at once")
	}
	c.End(errWhy)
	c.End(nil)
	if len(waits.ended) != 1 || waits.ended[0] != 7 || waits.cause != errWhy {
		t.Errorf("ended %v with %v", waits.ended, waits.cause)
	}
	if c.Await(&calls{}, 9) {
		t.Error("a call can wait for a context that has ended")
	}
}

func TestAnsweredCallIsLeftAlone(t *testing.T) {
	c, _ := start(t)
	waits := &calls{}
	c.Await(waits, 7)
	c.Answered()
	c.End(nil)
	if len(waits.ended) != 0 {
		t.Errorf("ended %v", waits.ended)
	}
}

func TestNoWaitingNoAllocation(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	waits, contexts := &calls{}, make([]late.Context, 200)
	n := 0
	allocs := testing.AllocsPerRun(100, func() {
		c := &contexts[n]
		n++
		c.Init(parent)
		late.WithValue(c, key{}, waits)
		c.Await(waits, 1)
		c.Answered()
		c.End(nil)
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
