package upstream

import (
	"context"
	"errors"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/upstream/failure"
)

// explainWait is how long the one who asks waits to hear how a process ended.
const explainWait = 100 * time.Millisecond

// ended says whether the process behind a connection is known to have ended.
func (l *link) ended() bool {
	if l.child == nil {
		return false
	}
	late := time.NewTimer(explainWait)
	defer late.Stop()
	select {
	case <-l.done:
		return l.err != nil
	case <-late.C:
		return false
	}
}

// endedWith says whether the process ended, after a handshake that failed. Its
// pipes break a moment before its end is known; one that answered, or is merely
// slow, is not waited for.
func (l *link) endedWith(err error) bool {
	var answered *jsonrpc.Error
	if errors.As(err, &answered) || errors.Is(err, failure.ErrSlow) || errors.Is(err, context.Canceled) {
		return !l.alive()
	}
	return l.ended()
}

// ending is the last words of the process behind a connection, and how it ended.
func (l *link) ending() (said string, why error) {
	if !l.ended() {
		return "", nil
	}
	return l.lastWords(), l.err
}

// explainExit adds the server's own last words to a failed handshake.
func (l *link) explainExit(err error) error {
	if l.child == nil {
		return err
	}
	if !l.alive() && l.err != nil {
		err = i18n.Errorf("the server ended during the handshake: %w", "服务在握手期间结束：%w", l.err)
	}
	if said := l.lastWords(); said != "" {
		err = i18n.Errorf("%w; it said: %s", "%w；它的输出：%s", err, said)
	}
	return err
}

// lastWords are what the process behind a connection wrote before it ended.
func (l *link) lastWords() string {
	return failure.LastWords(l.child.Stderr().Lines(40), environment(l.up.Config(), l.values))
}
