package upstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/failure"
)

// explainWait is how long the one who asks waits to hear how a process ended.
const explainWait = 100 * time.Millisecond

// An ending is how a connection ends, and the process behind it.
type ending struct {
	entry    *entry
	child    *stdio.Child      // nil over HTTP
	values   map[string]string // what its user brought along
	done     chan struct{}
	doneOnce sync.Once
	err      error         // why it ended; read after done
	grace    time.Duration // how long its calls may go on after that; read after done
}

// ended says whether the process behind a connection is known to have ended.
func (e *ending) ended() bool {
	if e.child == nil {
		return false
	}
	late := time.NewTimer(explainWait)
	defer late.Stop()
	select {
	case <-e.done:
		return e.err != nil
	case <-late.C:
		return false
	}
}

// endedWith says whether the process ended, after a handshake that failed. Its
// pipes break a moment before its end is known; one that answered, or is merely
// slow, is not waited for.
func (e *ending) endedWith(err error) bool {
	var answered *jsonrpc.Error
	if errors.As(err, &answered) || errors.Is(err, failure.ErrSlow) || errors.Is(err, context.Canceled) {
		return !e.alive()
	}
	return e.ended()
}

// whyEnded is the last words of the process behind a connection, and how it ended.
func (e *ending) whyEnded() (said string, why error) {
	if !e.ended() {
		return "", nil
	}
	return e.lastWords(), e.err
}

// explainExit adds the server's own last words to a failed handshake.
func (e *ending) explainExit(err error) error {
	if e.child == nil {
		return err
	}
	if !e.alive() && e.err != nil {
		err = i18n.Errorf("the server ended during the handshake: %w", "服务在握手期间结束：%w", e.err)
	}
	if said := e.lastWords(); said != "" {
		err = i18n.Errorf("%w; it said: %s", "%w；它的输出：%s", err, said)
	}
	return err
}

// lastWords are what the process behind a connection wrote before it ended.
func (e *ending) lastWords() string {
	return failure.LastWords(e.child.Stderr().Lines(40), e.entry.Config().EnvironmentFor(e.values))
}

// finish notes why the connection ended. The first reason counts.
func (e *ending) finish(err error) {
	e.doneOnce.Do(func() {
		e.err = err
		close(e.done)
	})
}

func (e *ending) alive() bool {
	select {
	case <-e.done:
		return false
	default:
		return true
	}
}
