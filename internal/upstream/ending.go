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

// explainWait is how long a caller waits for the exit status of a process.
const explainWait = 500 * time.Millisecond

// An ending describes how a connection, and the process behind it, ended.
type ending struct {
	entry    *entry
	child    *stdio.Child      // nil over HTTP
	values   map[string]string // per-user values of the connection's user
	done     chan struct{}
	doneOnce sync.Once
	err      error         // why it ended; read after done
	grace    time.Duration // how long its calls may continue after done; read after done
}

// ended reports whether the process behind the connection has ended. It waits up to
// explainWait.
func (e *ending) ended() bool {
	if e.child == nil {
		return false
	}
	select {
	case <-e.done:
		return e.err != nil
	case <-time.After(explainWait):
		return false
	}
}

// endedWith reports whether the process has ended, after a handshake that failed with err.
// The pipes break a moment before the exit is known, so endedWith waits; but not if the
// process answered or is merely slow.
func (e *ending) endedWith(err error) bool {
	var answered *jsonrpc.Error
	if errors.As(err, &answered) || errors.Is(err, failure.ErrSlow) || errors.Is(err, context.Canceled) {
		return !e.alive()
	}
	return e.ended()
}

// whyEnded returns the last lines of stderr of the process and the reason of its exit.
func (e *ending) whyEnded() (said string, why error) {
	if !e.ended() {
		return "", nil
	}
	return e.lastWords(), e.err
}

// explainExit adds the last lines of the server's stderr to the error of a failed
// handshake.
func (e *ending) explainExit(err error) error {
	if e.child == nil {
		return err
	}
	if !e.alive() && e.err != nil {
		err = i18n.Errorf("the server ended during the handshake: %w", "服务器在握手期间结束：%w", e.err)
	}
	if said := e.lastWords(); said != "" {
		err = i18n.Errorf("%w; its output: %s", "%w；它的输出：%s", err, said)
	}
	return err
}

// lastWords returns the last lines that the process wrote to stderr.
func (e *ending) lastWords() string {
	return failure.LastWords(e.child.Stderr().Lines(40), e.entry.Config().EnvironmentFor(e.values))
}

// finish records why the connection ended. Only the first call has an effect.
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
