package instance

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// A Lifetime ends with signals: the first signal asks the server to finish, the
// second ends it at once.
type Lifetime struct {
	Soft, Hard context.Context
	Finish     context.CancelFunc
	end        context.CancelFunc
	signals    chan os.Signal
	Hangup     chan os.Signal
}

func NewLifetime(ctx context.Context) *Lifetime {
	l := &Lifetime{signals: make(chan os.Signal, 2), Hangup: make(chan os.Signal, 1)}
	l.Hard, l.end = context.WithCancel(ctx)
	l.Soft, l.Finish = context.WithCancel(l.Hard)
	signal.Notify(l.signals, os.Interrupt, syscall.SIGTERM)
	signal.Notify(l.Hangup, syscall.SIGHUP)
	go l.listen()
	return l
}

func (l *Lifetime) listen() {
	for _, next := range []context.CancelFunc{l.Finish, l.end} {
		select {
		case <-l.signals:
			next()
		case <-l.Hard.Done():
			return
		}
	}
}

func (l *Lifetime) Stop() {
	signal.Stop(l.signals)
	signal.Stop(l.Hangup)
	l.end()
}
