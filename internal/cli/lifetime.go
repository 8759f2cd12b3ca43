package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// A lifetime is how long a server runs: the first signal asks it to finish,
// the second ends it now.
type lifetime struct {
	soft, hard context.Context
	finish     context.CancelFunc
	end        context.CancelFunc
	signals    chan os.Signal
	hangup     chan os.Signal
}

func newLifetime(ctx context.Context) *lifetime {
	l := &lifetime{signals: make(chan os.Signal, 2), hangup: make(chan os.Signal, 1)}
	l.hard, l.end = context.WithCancel(ctx)
	l.soft, l.finish = context.WithCancel(l.hard)
	signal.Notify(l.signals, os.Interrupt, syscall.SIGTERM)
	signal.Notify(l.hangup, syscall.SIGHUP)
	go l.listen()
	return l
}

func (l *lifetime) listen() {
	for _, next := range []context.CancelFunc{l.finish, l.end} {
		select {
		case <-l.signals:
			next()
		case <-l.hard.Done():
			return
		}
	}
}

func (l *lifetime) stop() {
	signal.Stop(l.signals)
	signal.Stop(l.hangup)
	l.end()
}
