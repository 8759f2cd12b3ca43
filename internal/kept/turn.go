package kept

import (
	"context"
	"sync"

	"mcp-all-in-one/internal/i18n"
)

// maxInTurn is how many searches of one principal, with grep or with jq, run or wait.
const maxInTurn = 8

// ErrOverloaded means that a principal has its share of what runs or waits in
// turn. The same query may succeed later.
var ErrOverloaded = i18n.Errorf("too many searches or reads of kept results of this client run or wait; try again when one has ended",
	"此客户端正在运行或等待的结果搜索或读取过多；请在其中一个结束后重试")

// Turns lets few searches, or reads or writes of results, run at a time, so that
// they do not take all processors. Of each principal only one is in line: a
// principal that starts many does not delay the others by more than one.
type Turns struct {
	line chan struct{} // has an element for each running search
	most int           // how many of one principal run or wait

	mu sync.Mutex
	by map[string]*turn
}

// A turn is the place of a principal in the line.
type turn struct {
	taken chan struct{} // has an element while a search of the principal is in line
	users int           // searches that have or want the place
}

// NewTurns returns turns of which several run at a time, and at most so many of one
// principal run or wait.
func NewTurns(running, most int) *Turns {
	return &Turns{line: make(chan struct{}, running), most: most, by: make(map[string]*turn)}
}

// Enter waits until a search of a principal may run. leave ends it. If too many
// of the principal wait, the error is ErrOverloaded. load gets what is searched;
// nil means nothing. It is called once no other search of the principal is in line,
// so those that wait hold no data, and before a place in line is taken, so a result
// that arrives slowly from another replica does not delay other principals.
func (t *Turns) Enter(ctx context.Context, principal string, load func() error) (leave func(), err error) {
	own := t.of(principal)
	if own == nil {
		return nil, ErrOverloaded
	}
	if err := wait(ctx, own.taken); err != nil {
		t.drop(principal, own)
		return nil, err
	}
	if load != nil {
		err = load()
	}
	if err == nil {
		err = wait(ctx, t.line)
	}
	if err != nil {
		<-own.taken
		t.drop(principal, own)
		return nil, err
	}
	return func() {
		<-t.line
		<-own.taken
		t.drop(principal, own)
	}, nil
}

func wait(ctx context.Context, place chan struct{}) error {
	select {
	case place <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// of counts one more search of a principal. It returns nil if that is too many.
func (t *Turns) of(principal string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.by[principal]
	if own == nil {
		own = &turn{taken: make(chan struct{}, 1)}
		t.by[principal] = own
	}
	if own.users == t.most {
		return nil
	}
	own.users++
	return own
}

func (t *Turns) drop(principal string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.by, principal)
	}
}
