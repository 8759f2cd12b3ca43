package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/backoff"
	"mcp-all-in-one/internal/upstream/failure"
)

const (
	healthyAfter = 60 * time.Second
	crashWindow  = 60 * time.Second
	crashLimit   = 5
	listGrace    = 30 * time.Second
	restartPause = 5 * time.Second
)

// A supervisor keeps the primary connection of a server open.
type supervisor struct {
	*connections
	lastDown string // the last logged failure; used by run only

	mu    sync.Mutex
	grace *time.Timer // removes the features of a server that stays down
}

// run keeps the primary connection open until the upstream is stopped.
func (s *supervisor) run() {
	var tries int
	var ends []time.Time
	for {
		l, err := dialer{up: s.connections, slot: s.primary, spec: s.baseSpec()}.open(s.life)
		if s.life.Err() != nil {
			s.farewell(l)
			return
		}
		started := time.Now()
		if err == nil {
			s.up(l)
			select {
			case <-l.done:
				err = l.err
			case <-s.wake:
				s.log.Info("restarting on request")
				s.down(Restarting, nil)
				l.close(s.life)
				continue
			case <-s.life.Done():
				s.farewell(l)
				return
			}
			if time.Since(started) > healthyAfter {
				tries = 0
			}
		}
		ends = recent(ends)
		if o := (once{s.connections}); o.on() && (errors.Is(err, errMoved) || failure.IsRefusal(err)) {
			o.shift(l)
			continue
		}
		if errors.Is(err, errOtherValues) {
			s.down(Restarting, err)
			s.bury(l)
			continue
		}
		if l != nil || s.Config().Transport() == config.TypeStdio && !neverRan(err) {
			ends = append(ends, time.Now())
		}
		if l == nil {
			err = personal{s.connections}.explain(err)
		}
		state, delay := s.judge(err, tries, len(ends))
		tries++
		s.down(state, err)
		s.bury(l)
		if !s.rest(state, delay) {
			return
		}
	}
}

// farewell closes a connection at the end of the upstream's life and waits for it. Close
// may not know a connection that is so new.
func (u *connections) farewell(l *link) {
	if l != nil {
		l.close(context.WithoutCancel(u.life))
	}
}

// bury closes a broken connection. It waits for a process to end, so that two processes of
// one server never run at the same time. It does not wait for a host that is unreachable.
func (u *connections) bury(l *link) {
	switch {
	case l == nil:
	case l.child != nil:
		l.close(u.life)
	default:
		u.background.Go(func() { l.close(u.life) })
	}
}

// neverRan reports whether no process was started. A command that cannot be started, for
// instance because it is not installed, does not count as a crash.
func neverRan(err error) bool {
	return errors.As(err, new(*stdio.StartError)) || failure.IsLocked(err)
}

func recent(ends []time.Time) []time.Time {
	for len(ends) > 0 && time.Since(ends[0]) > crashWindow {
		ends = ends[1:]
	}
	return ends
}

// judge returns the new state after the connection ended, and the delay before the next
// attempt.
func (s *supervisor) judge(err error, tries, endsInWindow int) (State, time.Duration) {
	cfg := s.Config()
	switch {
	case !cfg.Restart:
		return Failed, 0
	case failure.IsAuth(err) || failure.LacksValues(err):
		return SignIn, backoff.Cap
	case endsInWindow > max(crashLimit, cfg.Retries):
		return CrashLooping, backoff.Spread(backoff.Cap)
	}
	state := Restarting
	if failure.IsLocked(err) {
		state = Refused
	} else if s.primary.features.Load() == nil {
		state = Failed
	}
	pause := min(cfg.RestartDelay, backoff.Base<<min(tries, 16))
	if s.Config().Transport() == config.TypeStdio {
		return state, backoff.Jitter(pause)
	}
	return state, max(backoff.Spread(pause), failure.RetryAfter(err))
}

// rest waits before the next attempt. A restart request ends the wait. It reports whether
// there is a next attempt.
func (s *supervisor) rest(state State, delay time.Duration) bool {
	next := time.NewTimer(delay)
	defer next.Stop()
	tick := next.C
	if state == Failed && !s.Config().Restart {
		tick = nil
	}
	select {
	case <-tick:
	case <-s.wake:
	case <-s.life.Done():
		return false
	}
	_, why := s.State() // the reason stays valid until the server is up
	s.setState(Starting, why)
	return true
}

func (s *supervisor) up(l *link) {
	s.primary.link.Store(l)
	s.endGrace()
	s.primary.features.CompareAndSwap(nil, l.loaded) // unlist may have removed them meanwhile
	s.greeted.Store(true)
	s.lastDown = ""
	s.setState(Ready, nil)
	s.log.Info("upstream connected", "version", l.said.Version)
}

// down records that there is no connection. The features stay listed for listGrace, so that
// a server that bounces does not change the lists of its clients.
func (s *supervisor) down(state State, err error) {
	s.primary.link.Store(nil)
	s.mu.Lock()
	if s.grace == nil && s.primary.features.Load() != nil {
		s.grace = time.AfterFunc(listGrace, s.unlist)
	}
	s.mu.Unlock()
	s.fall(state, err)
	level, about := slog.LevelWarn, []any{"state", string(state), "err", err}
	if err == nil { // a restart on request
		level, about = slog.LevelInfo, about[:2]
	}
	if again := fmt.Sprint(state, err); again == s.lastDown {
		level = slog.LevelDebug // it was logged before
	} else {
		s.lastDown = again
	}
	s.log.Log(s.life, level, "upstream down", about...)
}

// endGrace stops the timer that removes the features.
func (s *supervisor) endGrace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grace != nil {
		s.grace.Stop()
		s.grace = nil
	}
}

// unlist removes the features of a server that has been down for too long.
func (s *supervisor) unlist() {
	s.mu.Lock()
	over := s.grace != nil
	s.grace = nil
	s.mu.Unlock()
	if over && s.life.Err() == nil && s.primary.features.Swap(nil) != nil {
		s.changed()
	}
}

// Restart closes the primary connection and opens it again at once.
func (u *connections) Restart() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// waitPrimary returns the primary connection. It waits for a connection that is being
// opened: for the first start as long as that takes, for a restart as long as once.wait
// says.
func (u *connections) waitPrimary(ctx context.Context) (*link, error) {
	if l := u.primary.current(); l != nil {
		return l, nil
	}
	wait := time.NewTimer(once{u}.wait())
	defer wait.Stop()
	for {
		state, moved, reason := u.now()
		if l := u.primary.current(); l != nil {
			return l, nil
		}
		patience := wait.C
		switch state {
		case Starting, Ready:
			select {
			case <-u.settled:
			default:
				patience = nil // the first start has its own limit
			}
		case Restarting:
		default:
			return nil, u.report.Unavailable(ctx, cmp.Or(reason, errStopped)) // a disabled server has no reason
		}
		select {
		case <-moved:
		case <-patience:
			return nil, u.report.Unavailable(ctx, orStarting(reason))
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-u.life.Done():
			return nil, u.report.Unavailable(ctx, errStopped)
		}
	}
}

func orStarting(err error) error {
	if err == nil {
		return i18n.Errorf("it is starting", "正在启动")
	}
	return err
}
